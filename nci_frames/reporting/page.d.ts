// Types of the page's scripts, checked by `make lint`; not part of the page.

type Axis = "prevalence" | "asked";
/** A row of the data of a chart. */
type Row = Record<string, string | number | boolean | null>;

/** Written by `live_numbers`. */
interface LiveData {
  models: string[];
  drawn: string[];
  threshold: number;
  prevalence: number[];
  first: number;
  asked: { label: string; words: string[]; first: number };
  answers: { name: string; lines: string[][]; models: Packed }[];
  said: Record<string, string[][]>;
  beta: number;
  points: number[][];
  /** Of a page on classes: the number of the place of each class's share in the mix. */
  own?: number[];
}
/** Written by `segment_numbers`. */
interface SegmentData {
  keys: string[];
  by: { keys: number[]; count: number; said: string; model: string }[];
  names: string[][];
  labels: string[];
  table: Packed;
  most: number;
}
/** The parts of a Vega view that the page uses. */
interface View {
  data(name: string): Row[];
  data(name: string, rows: Row[]): View;
  signal(name: string, value: unknown): View;
  runAsync(): Promise<View>;
  finalize(): void;
}
interface Chart {
  view: View;
  /** The name of the data with a row for each mark. */
  source: string;
  /** The names of all data that are drawn as shapes, each with that of its layer. */
  sets: Map<string, string>;
  models: string[];
  /** The rows of each data set as they were drawn first. */
  rows: Map<string, Row[]>;
}
/** Written by `packed`. */
type Column = Row[string][] | { values: Row[string][]; places: number[] };
interface Packed {
  count: number;
  columns: Record<string, Column>;
}
type Spec = any;
declare function vegaEmbed(box: Element, spec: Spec, options: object): Promise<{ view: View }>;

interface PageTable extends HTMLTableElement {
  nciSort?: { column: number; sign: number };
  nciMore?: HTMLButtonElement;
  nciShown?: number;
}

/** Shared by the scripts. */
interface Nci {
  // numbers.js
  fBeta(tpr: number, fpr: number, prevalence: number, beta: number): number;
  precision(tpr: number, fpr: number, prevalence: number): number;
  strong(...inside: (string | Node)[]): HTMLElement;
  UNDEFINED: string;
  formatPart(value: number): string;
  formatValue(value: number): string;
  formatGrid(value: number): string;
  formatThreshold(value: number | null): string;
  oneIn(prevalence: number): string;
  // rows.js
  column(column: Column): Row[string][];
  unpack(table: Packed): Row[];
  // values.js
  state: Record<Axis, number>;
  values: {
    data: LiveData;
    eta(): number;
    lines(): string[];
    rows(): Row[];
    along(): Row[];
    fBeta(model: number, prevalence: number, beta: number): number;
    inWords(prevalence: number): string;
  };
  // tables.js
  refreshTable(table: PageTable): void;
  startTables(): void;
  // legend.js
  legend: boolean;
  highlighted(): string[];
  paintLegend(dark: boolean): void;
  // charts.js
  drawCharts(): Promise<void>;
  drawChart(box: HTMLElement): Promise<void>;
  chartBoxes: HTMLElement[];
  chartOf(box: Element): Chart;
  // ranking.js, live_charts.js, answer.js, controls.js
  fillRanking(): void;
  showLive(box: HTMLElement): void;
  say(): void;
  startControls(): void;
  // segments.js
  segmentRows(): Row[];
  startSegments?(): void;
  // panels.js, downloads.js
  startPanels(): void;
  csv(rows: Row[]): string;
  chartCsv(box: Element): string;
}
