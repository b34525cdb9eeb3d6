// The types of the page's scripts, which `make lint` checks; nothing here is part of the page.

type Axis = "prevalence" | "beta";
/** What models are ranked by: their own best thresholds, or the one of the comparison. */
type Measure = "own" | "f_beta";
/** What a model, by its place in `models`, has at a prevalence and beta; null if undefined. */
type ModelValue<T> = (model: number, prevalence: number, beta: number) => T;
/** Threshold, TPR, FPR and F-beta, then the bounds of TPR and of FPR if there are any. */
type Point = [threshold: number, tpr: number, fpr: number, value: number, ...bounds: number[]];
type Bounds = { lower?: number; upper?: number };
/** A row of the data of a chart. */
type Row = Record<string, string | number | boolean | null>;

/** See `live_numbers`, which writes it. */
interface LiveData {
  models: string[];
  drawn: string[];
  threshold: number;
  prevalence: [low: number, high: number, first: number];
  beta: [low: number, high: number, first: number];
  points: number[][];
  best: number[][][];
  classes: [positives: number, negatives: number][];
  judged: Judged | null;
  tested: Record<Measure | "pr_auc" | "equal" | "probability", number[][]> & { beta: number | null; prevalence: number[] };
  own: string;
  lowest: number[];
  areas: number[][];
  decisions: [start: number, end: number, model: number, threshold: number][];
}
/** See `segment_numbers`, which writes it. */
interface SegmentData {
  keys: string[];
  names: string[][];
  labels: string[];
  table: Packed;
  models: number[];
  points: number[][][];
  prevalence: number[];
}
interface Judged {
  prevalence: number[];
  beta: number[];
  ratios: number[][];
}

/** A view of Vega, as far as the page uses it. */
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
  rows: Row[];
}
/** See `packed`, which writes them. */
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
  nciLive?: { rows: string[]; grid: number[]; over: Axis; measure: Measure };
  nciRows?: [HTMLTableRowElement, number][];
}

/** What the scripts share. */
interface Nci {
  // numbers.js
  fBeta(tpr: number, fpr: number, prevalence: number, beta: number): number;
  precision(tpr: number, fpr: number, prevalence: number): number;
  judgedRatio(judged: Judged, ratios: number[], prevalence: number, beta: number): number;
  bestPoint(points: number[][], classes: [number, number], prevalence: number, beta: number): Point;
  area(values: number[], range: [number, number, number], prevalence: number): number;
  ranks(values: number[]): number[];
  strong(...inside: (string | Node)[]): HTMLElement;
  UNDEFINED: string;
  formatValue(value: number): string;
  formatGrid(value: number): string;
  formatThreshold(value: number): string;
  formatPercent(share: number): string;
  formatGroup(group: number): string;
  oneIn(prevalence: number): string;
  // rows.js
  column(column: Column): Row[string][];
  unpack(table: Packed): Row[];
  // values.js
  state: Record<Axis, number>;
  values: {
    data: LiveData;
    place: Map<string, number>;
    ownBest: ModelValue<Point>;
    atThreshold: ModelValue<number>;
    area: ModelValue<number>;
    told: Record<Measure | "pr_auc", ModelValue<boolean>>;
    measures: Record<Measure, ModelValue<number>>;
    bounded: ModelValue<Bounds>;
    ownBounds(point: Point, prevalence: number, beta: number): Bounds;
    reign(): { model: string; above: [number, string]; below: [number, string] };
    certainty(): { equal: number[]; probability: number[] };
    groups(measure: Measure | "pr_auc", prevalence: number, beta: number): number[];
    fName(): string;
    at: string;
    heading(over: Axis): string;
    inWords: Record<Axis, (value: number) => string>;
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
  fillExplorer(best: Point[], values: number[], f: number[], areas: number[]): void;
  fillTables(): void;
  startRanking(): void;
  showLive(box: HTMLElement): void;
  say(best: Point[], values: number[], f: number[], areas: number[]): void;
  startControls(): void;
  // segments.js
  segmentRows(): Row[];
  drawSegments?(box: HTMLElement): void;
  startSegments?(): void;
  // panels.js, downloads.js
  startPanels(): void;
  csv(rows: Row[]): string;
  chartCsv(box: Element): string;
}
