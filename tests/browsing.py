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


class Visit:
    """A page that was opened, with all that it said, asked for and did.

    It waits for all charts, or for the first *charts*: the answer's two, then P3 and the others.
    """

    def __init__(self, browser, path, *, charts=None, **options):
        self.messages, self.errors, self.requests, self.dialogs = [], [], [], []
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.goto(path.as_uri())
        charts = charts or self.page.locator("[data-spec]").count()
        self.page.locator("[data-drawn]").nth(charts - 1).wait_for(state="attached", timeout=30_000)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.context.close()
