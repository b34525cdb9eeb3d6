"""Pages opened in a real Chromium that has no network."""

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 400, "height": 800}


class Visit:
    """A page that was opened, with all that it said, asked for and did; all its charts are drawn."""

    def __init__(self, browser, path, *, viewport=DESKTOP, color_scheme="light"):
        self.messages, self.errors, self.requests, self.dialogs = [], [], [], []
        # Without smooth scrolling, which would still move the page when the next test looks at it.
        self.context = browser.new_context(
            offline=True, viewport=viewport, color_scheme=color_scheme, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.path = path
        self._ticks = self.context.new_cdp_session(self.page)
        self._ticks.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(path.as_uri())
        self._wait()

    def _wait(self):
        charts = self.page.locator("[data-spec]").count()
        self.page.locator("[data-drawn]").nth(charts - 1).wait_for(state="attached", timeout=60_000)

    def cpu_seconds(self):
        """Return for how long the page has kept a processor busy, however busy the machine is."""
        metrics = self._ticks.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def redraw(self, change):
        """Do what makes the page draw all its charts anew, and wait until it has."""
        self.page.evaluate("document.querySelectorAll('[data-drawn]').forEach(b => delete b.dataset.drawn)")
        change()
        self._wait()

    def turn(self, viewport, color_scheme):
        """Look at the same page on another screen, in the other colours."""
        self.page.set_viewport_size(viewport)
        self.redraw(lambda: self.page.emulate_media(color_scheme=color_scheme))

    def check_silence(self):
        """Nothing was said, asked for or done."""
        assert self.messages == self.errors == self.dialogs == []
        assert self.requests == [self.path.as_uri()]
        assert self.page.evaluate("window.__pwned") is None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.context.close()


def settled(page):
    """Wait until what the controls changed is on the page."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def move(page, eta=None, asked=None):
    """Put the sliders somewhere, in thousandths of their length; return the prevalence of the page."""
    for name, step in (("prevalence", eta), ("asked", asked)):
        if step is not None:
            page.locator(f"#{name}-slider").evaluate(
                "(s, at) => { s.value = s.max * at / 1000; s.dispatchEvent(new Event('input')); }", step
            )
    settled(page)
    return page.evaluate("nci.values.eta()")


def cells(page, table):
    """Return the rows of a table: the name, and of each cell its number and its small rank."""
    return page.locator(f"#{table} tbody tr").evaluate_all(
        """rows => rows.map(row => [...row.cells].map(cell => {
             const number = cell.querySelector("data")?.value ?? null;
             const rank = cell.querySelector("small")?.textContent;
             return [cell.textContent, number === null ? null : Number(number), rank ? Number(rank) : null];
           }))"""
    )
