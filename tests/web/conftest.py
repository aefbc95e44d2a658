"""`sweep web` before a real browser, and before clients that mean no good.

scripts/check runs these; what needs a browser is skipped where chromium, chromium-driver or python3-selenium is not
installed. By hand: `python3 -m pytest tests/web`, with SWEEPD_BIN for another build.
"""
import os
import shutil
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

    def __init__(self, folder, *options):
        self.folder = folder
        self.daemon = Daemon(folder, self.devices, ()).start()
        self.options = options
        self.process = None
        self.serve()

    def serve(self, port=0):
        self.process = subprocess.Popen(
            [os.path.join(BIN, "sweep"), "--socket", self.daemon.socket, "web", "--no-open",
             *(["--port", str(port)] if port else []), *self.options],
            stdout=subprocess.PIPE, text=True, env=environment(), cwd=self.folder)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://127.0.0.1:"), self.url
        self.base, _, self.token = self.url.partition("/?token=")
        self.port = int(self.base.rpartition(":")[2])

    def client(self):
        return self.daemon.client()

    def stop(self):
        self.process.terminate()
        self.process.wait(DEADLINE)
        self.process.stdout.close()
        self.daemon.stop()


@pytest.fixture(name="serve")
def serve_fixture(tmp_path):
    made = []

    def make(*options):
        made.append(Served(tmp_path, *options))
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
        t = client.call("trial.ask", sweep=sweep)["trials"][0]
        at = {"sweep": sweep, "trial": t["trial"], "attempt": t["attempt"]}
        for k in range(1, steps + 1):
            client.call("trial.report", **at, seq=k, step=k, metrics={"loss": 1 / k + t["params"]["lr"] + i / 100})
        client.call("trial.tell", **at, state=states[i % len(states)])
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


@pytest.fixture(name="page")
def page_fixture(browser, served):
    """The page, opened by its address; at the end nothing was said in the console, and nobody else was asked."""
    page = Page(browser, served)
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(served.url)
    yield page
    page.check()
    browser.get("about:blank")


class Page:
    def __init__(self, browser, served):
        self.browser, self.served = browser, served
        self.expected = ()  # what the console may say, parts of lines

    def go(self, path):
        self.browser.get(self.served.base + path)

    def all(self, css):
        return self.browser.find_elements("css selector", css)

    def find(self, css, text=""):
        """The first such element that is shown and has the text, once it is there."""
        def look():
            for element in self.all(css):
                try:
                    if element.is_displayed() and text in (element.text or element.get_attribute("aria-label") or ""):
                        return element
                except Exception as error:  # it was drawn anew meanwhile
                    if "stale" not in str(error):
                        raise
            return None
        return wait_until(look, f"{css} with {text!r}; the page says: {self.text()[:1500]}")

    def click(self, css, text=""):
        def press():
            try:
                self.find(css, text).click()
                return True
            except Exception as error:
                if "stale" not in str(error) and "intercepted" not in str(error):
                    raise
                return False
        wait_until(press, f"a click on {css} {text!r}")

    def text(self):
        return self.browser.execute_script("return document.body.innerText") or ""

    def sees(self, text):
        wait_until(lambda: text in self.text(), f"{text!r} on the page: {self.text()[:1500]}")

    def key(self, *keys):
        from selenium.webdriver import ActionChains
        ActionChains(self.browser).send_keys(*keys).perform()

    def tab_to(self, what):
        """Presses Tab until what(element) is true of the one that has the focus."""
        from selenium.webdriver.common.keys import Keys
        for _ in range(60):
            self.key(Keys.TAB)
            if what(self.browser.switch_to.active_element):
                return
        raise AssertionError("Tab does not come to it")

    def fill(self, label, value):
        box = self.find("dialog label", label).find_element("css selector", "input")
        box.clear()
        box.send_keys(str(value))

    def check(self):
        import json
        said = [e["message"] for e in self.browser.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
        assert [m for m in said if not any(part in m for part in self.expected)] == []
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                assert url.startswith((self.served.base + "/", "about:", "data:", "chrome:")), url
