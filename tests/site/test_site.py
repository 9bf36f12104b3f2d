"""The site in a real browser: every page, on a desktop and on a phone.

Pictures of the pages go into the folder that HEAT_PLUGINS_SCREENSHOTS names, if it does.
"""

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from browser import find_chromium
from chromium import Chromium
from needs import unavailable

pytestmark = pytest.mark.slow
BAD = ("error", "warning")  # levels of the console
DESKTOP, PHONE = (1280, 900), (390, 800)
# Of a page: where its links lead, its anchors, images without a picture, and formulas.
LOOK = """({
    links: [...document.querySelectorAll("a[href]")].map(a => a.href),
    anchors: [...document.querySelectorAll("[id]")].map(e => e.id),
    broken: [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src),
    formulas: document.querySelectorAll("svg.formula[aria-label]").length,
    raw: document.querySelectorAll(".arithmatex").length,
    heading: document.querySelector("h1")?.textContent ?? "",
})"""
# What is wider than the screen, though it does not scroll by itself.
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    handler = functools.partial(Silent, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    """A browser, or the reason why there is none."""
    program = find_chromium()
    if program is None:
        unavailable("no Chromium was found (Debian: apt install chromium)")
    with Chromium(program) as browser:
        yield browser


def complaints(browser: Chromium) -> list[str]:
    """Return what the page wrote to the console as a warning or an error, or threw."""
    found = []
    for event in browser.events:
        params = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            found.append(str(params["exceptionDetails"]))
        if event["method"] == "Log.entryAdded" and params["entry"]["level"] in (
            "error",
            "warning",
        ):
            found.append(params["entry"]["text"])
        if event["method"] == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
        ):
            found.append(str(params["args"]))
    return found


def requests(browser: Chromium) -> list[str]:
    """Return what was asked for over any network."""
    sent = [event for event in browser.events if event["method"] == "Network.requestWillBeSent"]
    addresses = [event["params"]["request"]["url"] for event in sent]
    return [a for a in addresses if urlsplit(a).scheme not in ("data", "blob", "about")]


def shoot(browser: Chromium, page: str, where: str) -> None:
    folder = os.environ.get("HEAT_PLUGINS_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = f"{page.removesuffix('.html').replace('/', '-')}-{where}.png"
        browser.screenshot(Path(folder) / name)


def test_every_page_is_whole(site: Path, address: str, browser: Chromium) -> None:
    pages = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    assert len(pages) > 30
    anchors: dict[str, set[str]] = {}
    links: dict[str, set[str]] = {}
    faults = []
    for page in pages:
        browser.resize(*DESKTOP)
        browser.open(address + page)
        seen = browser.evaluate(LOOK)
        anchors[page], links[page] = {*seen["anchors"]}, {*seen["links"]}
        faults += [f"{page}: no picture {source}" for source in seen["broken"]]
        faults += [f"{page}: {complaint}" for complaint in complaints(browser)]
        elsewhere = [a for a in requests(browser) if not a.startswith(address)]
        faults += [f"{page}: asks {other}" for other in elsewhere]
        faults += [f"{page}: formulas that were not drawn"] * bool(seen["raw"])
        faults += [f"{page}: no heading"] * (not seen["heading"].strip())
        shoot(browser, page, "desktop")
        browser.resize(*PHONE, phone=True)
        if (excess := browser.evaluate(TOO_WIDE)) > 0:
            faults.append(f"{page}: {excess} pixels wider than a phone")
        shoot(browser, page, "phone")
    anchors |= {str(path.relative_to(site)): set() for path in site.rglob("*.jsonl")}
    faults += dead_links(address, anchors, links)
    assert faults == []


def dead_links(
    address: str, anchors: dict[str, set[str]], links: dict[str, set[str]]
) -> list[str]:
    """Return links within the site that lead to no page or data, or to no place on a page."""
    dead = []
    for page, targets in links.items():
        for target in targets:
            there, fragment = urldefrag(target)
            if not there.startswith(address):
                continue
            name = unquote(there.removeprefix(address)) or "index.html"
            name += "index.html" if name.endswith("/") else ""
            if name not in anchors or (fragment and unquote(fragment) not in anchors[name]):
                dead.append(f"{page}: dead link {target.removeprefix(address)}")
    return dead


def test_formulas_are_drawn(address: str, browser: Chromium) -> None:
    browser.open(f"{address}theory.html")
    assert browser.evaluate(LOOK)["formulas"] > 40
    sizes = browser.evaluate(
        "[...document.querySelectorAll('svg.formula')].map(s => s.getBoundingClientRect().height)"
    )
    assert all(4 < size < 120 for size in sizes)


@pytest.mark.parametrize("served", [True, False], ids=["served", "from files"])
def test_the_search_finds_a_page(
    served: bool, site: Path, address: str, browser: Chromium
) -> None:
    """Also where the files are read without a server."""
    browser.resize(*DESKTOP)
    browser.open(address if served else (site / "index.html").as_uri())
    browser.evaluate(
        "(() => { const field = document.querySelector('[data-md-component=search-query]');"
        " document.querySelector('#__search').click();"
        " field.focus(); field.value = 'permutationinvariant';"
        " field.dispatchEvent(new Event('input', {bubbles: true}));"
        " field.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true})) })()"
    )
    hits = browser.wait_for(
        "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href).join(' ')"
    )
    assert "kernels.html" in hits
    assert complaints(browser) == []
    assert all(a.startswith((address, "file:")) for a in requests(browser))


def test_the_reader_can_turn_the_light_off(address: str, browser: Chromium) -> None:
    browser.resize(*DESKTOP)
    browser.open(f"{address}theory.html")
    browser.evaluate("document.querySelector('label[title=Dark]').click()")
    assert browser.wait_for("document.body.dataset.mdColorScheme === 'slate'")
    colours = browser.evaluate(
        "[getComputedStyle(document.querySelector('svg.formula path')).fill,"
        " getComputedStyle(document.querySelector('article p')).color]"
    )
    assert colours[0] == colours[1]  # formulas have the colour of the text
    shoot(browser, "theory.html", "dark")
