"""`sweep web` before a real browser, and before clients that mean no good.

scripts/check runs these; what needs a browser is skipped where chromium, chromium-driver or python3-selenium is not
installed. By hand: `python3 -m pytest tests/web`, with SWEEPD_BIN for another build.
"""
import os
import shutil
import signal
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e")]

from harness import BIN, DEADLINE, Daemon, environment, wait_until  # noqa: E402

os.environ["SWEEPD_SOCKET"] = "/nowhere/sweepd.sock"

# A sweep whose trials a client runs: what it reports, and when, is the test's to say.
SPEC = {"name": "shapes", "method": "random", "seed": 1, "run_cap": 40, "max_concurrent": 8,
        "metric": {"name": "loss", "goal": "minimize"},
        "parameters": {"lr": {"distribution": "log_uniform_values", "min": 1e-4, "max": 1e-1},
                       "units": {"min": 4, "max": 64}, "optimizer": {"values": ["sgd", "adam"]}}}


class Served:
    """A daemon and its page."""

    devices = "none"

    def __init__(self, folder, *options, env=None, opens=False, far=None, devices=None):
        self.folder = folder
        self.daemon = Daemon(folder, devices or self.devices, ()).start()
        self.options = (*options, *(() if opens else ("--no-open",)))
        self.env = env or {}
        self.where = ("--socket", self.daemon.socket)
        if far:
            self.where, self.env = ("--host", far.host("box", self.daemon.socket)), far.variables
        self.process = None
        self.serve()

    def serve(self, port=0):
        self.process = subprocess.Popen(
            [os.path.join(BIN, "sweep"), *self.where, "web", *(["--port", str(port)] if port else []), *self.options],
            stdout=subprocess.PIPE, text=True, env=environment(**self.env), cwd=self.folder)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url
        self.base, _, self.token = self.url.partition("/?token=")
        self.port = int(self.base.rpartition(":")[2])

    def client(self):
        return self.daemon.client()

    def open_in(self, browser):
        browser.get(self.url)
        wait_until(lambda: browser.current_url == self.base + "/", "the bare address")

    def end_page(self):
        self.process.terminate()
        status = self.process.wait(DEADLINE)
        self.process.stdout.close()
        assert status in (0, -signal.SIGKILL), "what a sanitizer found is above"

    def stop(self):
        self.end_page()
        self.daemon.stop()


@pytest.fixture(name="serve")
def serve_fixture(tmp_path):
    made = []

    def make(*options, **more):
        made.append(Served(tmp_path, *options, **more))
        return made[-1]

    yield make
    for served in made:
        served.stop()


@pytest.fixture(name="served")
def served_fixture(serve):
    return serve()


def run_trials(client, sweep, n, steps=3, states=("COMPLETED",)):
    """Asks for n trials, reports steps of each, and ends them; their numbers."""
    done = []
    for i in range(n):
        t, = client.ask(sweep)
        for k in range(1, steps + 1):
            client.report(sweep, t, k, k, loss=1 / k + t["params"]["lr"] + i / 100)
        client.tell(sweep, t, states[i % len(states)])
        done.append(t["trial"])
    return done


@pytest.fixture(name="browser", scope="session")
def browser_fixture(tmp_path_factory):
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("no chromium or no chromedriver here")
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900",
                 f"--user-data-dir={tmp_path_factory.mktemp('chromium')}", "--disable-component-update",
                 "--disable-background-networking"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    driver.set_page_load_timeout(DEADLINE)
    yield driver
    driver.quit()


@pytest.fixture(name="open_page")
def open_page_fixture(browser, serve):  # serve: what it serves ends after the pages
    """Pages, opened by their addresses; at the end nothing was said in the console, and nobody else was asked."""
    pages = []

    def make(served):
        browser.get_log("browser"), browser.get_log("performance")
        pages.append(Page(browser, served))
        served.open_in(browser)
        return pages[-1]

    yield make
    for page in pages:
        page.check()
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.get("about:blank")


@pytest.fixture(name="page")
def page_fixture(open_page, served):
    return open_page(served)


# The first such element that is shown and says the text to a reader of the screen, near enough to find it by.
FIND = """
const [css, text] = arguments;
const says = (e) => `${e.innerText ?? e.textContent} ${e.getAttribute("aria-label") ?? ""}`.replace(/\\s+/g, " ");
const shown = (e) => e.getClientRects().length > 0 && e.checkVisibility({visibilityProperty: true, opacityProperty: true});
const all = [...document.querySelectorAll(css)].filter((e) => shown(e) && says(e).includes(text));
"""
FIRST = FIND + "return all[0];"
# What it is now: its attributes, its text and its value.
LOOK = FIND + """
return all.slice(0, 1).map((e) => ({...Object.fromEntries([...e.attributes].map((a) => [a.name, a.value])),
  text: e.innerText ?? e.textContent, value: e.value}))[0];
"""
FIELD = FIND + "return all[0]?.matches('input, textarea') ? all[0] : all[0]?.querySelector('input, textarea');"
# An element may move away under the mouse: what it does not hear, nothing else hears, either.
GUARD = """
const [wanted] = arguments, types = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
let heard = false;
const guard = (e) => {
  if (!wanted.contains(e.target)) {
    e.preventDefault();
    e.stopImmediatePropagation();
  } else if (e.type === "click") heard = true;
};
types.forEach((type) => addEventListener(type, guard, true));
window.unguard = () => { types.forEach((type) => removeEventListener(type, guard, true)); return heard; };
"""
# What the window shows is there: no drawing of it, and of what is near (web/page/plots.js), is on its way. The rest is to
# be the same twice.
SETTLED = """
const near = (e) => { const r = e.getBoundingClientRect(); return r.bottom > -100 && r.top < innerHeight + 100 && r.width; };
return [...document.querySelectorAll("[aria-busy=true]")].some((e) => near(e.closest("figure") || e)) ? "" :
  [document.querySelectorAll("main *").length, document.body.scrollHeight, innerWidth, scrollY].join();
"""


class Late:
    """What was waited for, and what the page says when it is given up."""

    def __init__(self, page, what):
        self.page, self.what = page, what

    def __str__(self):
        return f"{self.what}; the page says: {self.page.text()[:1500]}"


class Page:
    """The page as one looks at it and acts on it. It may be drawn anew at any moment, so no test holds an element of it:
    each look is one script, and what is done to an element begins again if that is gone meanwhile."""

    def __init__(self, browser, served):
        self.browser, self.served = browser, served
        self.expected = ()  # what the console may say, parts of lines

    def ask(self, method, **params):
        """What the daemon itself says."""
        with self.served.client() as client:
            return client.call(method, **params)

    def go(self, path):
        self.browser.get(self.served.base + path)

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def until(self, script, what, *arguments):
        return wait_until(lambda: self.script(script, *arguments), Late(self, what))

    def count(self, css):
        return self.script("return document.querySelectorAll(arguments[0]).length", css)

    def texts(self, css):
        """Of all such elements that are shown."""
        return self.script(FIND + "return all.map((e) => e.innerText ?? e.textContent);", css, "")

    def find(self, css, text=""):
        """What is known of the first such element that is shown and has the text, once it is there."""
        return self.until(LOOK, f"{css} with {text!r}", css, text)

    def gone(self, css):
        wait_until(lambda: self.count(css) == 0, Late(self, f"the end of {css}"))

    def act(self, script, do, what, *arguments):
        """Does that to the element which the script finds, until it gives something true."""
        from selenium.common import exceptions
        again = (exceptions.StaleElementReferenceException, exceptions.ElementClickInterceptedException,
                 exceptions.ElementNotInteractableException)

        def once():
            try:
                element = self.script(script, *arguments)
                return element and do(element)
            except again:
                return None
        return wait_until(once, Late(self, what))

    def press(self, element):
        """Clicks on it; has it heard that?"""
        self.script(GUARD, element)
        try:
            element.click()
        finally:
            heard = self.script("return window.unguard()")
        return heard

    def click(self, css, text=""):
        self.act(FIRST, self.press, f"a click on {css} {text!r}", css, text)

    def write(self, css, value, text=""):
        """Into the field, or the label's, instead of what it holds."""
        self.act(FIELD, lambda e: (e.clear(), e.send_keys(value), True), f"a field {css} {text!r}", css, text)

    def fill(self, label, value):
        self.write("dialog label", str(value), label)

    def text(self):
        return self.script("return document.body?.innerText") or ""

    def sees(self, text):
        wait_until(lambda: text in self.text(), Late(self, repr(text)))

    def settle(self):
        last = [None]

        def same():
            before, last[0] = last[0], self.script(SETTLED)
            return last[0] and last[0] == before
        wait_until(same, Late(self, "the page to settle"))

    def size(self, width, height=900, mobile=False):
        """Of the window, until the page is left (open_page)."""
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
        wait_until(lambda: self.script("return innerWidth") == width, f"a window of {width} pixels")
        self.settle()

    def mouse(self, what, x, y):
        self.browser.execute_cdp_cmd("Input.dispatchMouseEvent", {
            "type": what, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1})

    def key(self, *keys):
        from selenium.webdriver import ActionChains
        ActionChains(self.browser).send_keys(*keys).perform()

    def type(self, *values):
        """Into the field that has the focus, and those after it, instead of what they hold."""
        from selenium.webdriver import ActionChains
        for i, value in enumerate(values):
            if i:
                self.key("\ue004")
            ActionChains(self.browser).key_down("\ue009").send_keys("a").key_up("\ue009").send_keys(value).perform()

    def focused(self):
        return self.script("const e = document.activeElement; return e === document.body ? '' : "
                           "e.getAttribute('aria-label') || e.labels?.[0]?.textContent.trim() || e.textContent")

    def tab_to(self, name, back=False):
        """Presses Tab, or Shift and Tab, until that has the focus."""
        from selenium.webdriver import ActionChains
        for _ in range(80):
            if back:
                ActionChains(self.browser).key_down("\ue008").send_keys("\ue004").key_up("\ue008").perform()
            else:
                self.key("\ue004")
            if self.focused() == name:
                return
        raise AssertionError(f"Tab does not come to {name!r}")

    def paste(self, text):
        self.browser.execute_cdp_cmd("Input.insertText", {"text": text})

    def check(self):
        import json
        said = [e["message"] for e in self.browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
        assert [m for m in said if not any(part in m for part in self.expected)] == []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                assert url.startswith((self.served.base + "/", "about:", "data:", "chrome:")), url
