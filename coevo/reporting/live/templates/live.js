"use strict";
(() => {
  const pause = 500;
  // While its log is being read a page is asked for again at once: the server answers when it has read on for a while.
  const isReading = () => body.dataset.version === "";
  const body = document.body;
  const link = document.getElementById("link");
  const parts = (root) => new Map([...root.querySelectorAll("#page > header, #page > footer, #page section[id]")]
    .map((each) => [each.id || each.tagName, each]));
  const sources = (root) => new Map([...parts(root)].map(([name, each]) => [name, each.outerHTML]));
  let sent = sources(document);

  const say = (text) => { if (link.textContent !== text) link.textContent = text; };

  const names = (root, selector) => {
    const counts = new Map();
    return [...root.querySelectorAll(selector)].map((each) => {
      const owner = each.closest("[id]");
      const label = each.tagName === "DETAILS" ? each.firstElementChild.textContent : each.getAttribute("aria-label") || each.value || "";
      const name = `${owner ? owner.id : ""}/${label}`;
      counts.set(name, (counts.get(name) || 0) + 1);
      return [`${name}#${counts.get(name)}`, each];
    });
  };

  const keep = (old, fresh) => {
    const open = new Map(names(old, "details").map(([name, each]) => [name, each.open]));
    for (const [name, each] of names(fresh, "details")) if (open.has(name)) each.open = open.get(name);
    const ticked = new Map(names(old, "input").map(([name, each]) => [name, each.checked]));
    for (const [name, each] of names(fresh, "input")) if (ticked.has(name)) each.checked = ticked.get(name);
    const scrolled = names(old, ".scroll, pre").map(([name, each]) => [name, each.scrollTop, each.scrollLeft]);
    const focusable = "a, button, input, summary, [tabindex]";
    const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
    return () => {
      const boxes = new Map(names(fresh, ".scroll, pre"));
      for (const [name, top, left] of scrolled) {
        const box = boxes.get(name);
        if (box && (top || left)) box.scrollTo(left, top);
      }
      const target = focused < 0 ? null : fresh.querySelectorAll(focusable)[focused];
      if (target) target.focus({ preventScroll: true });
    };
  };

  const swap = (fresh) => {
    const news = sources(fresh);
    const here = parts(document);
    const there = parts(fresh);
    if ([...here.keys()].join() !== [...there.keys()].join()) {
      const old = document.getElementById("page");
      const page = document.adoptNode(fresh.getElementById("page"));
      const after = keep(old, page);
      old.replaceWith(page);
      after();
    } else {
      for (const [name, source] of news) {
        if (sent.get(name) === source) continue;
        const part = document.adoptNode(there.get(name));
        const after = keep(here.get(name), part);
        here.get(name).replaceWith(part);
        after();
      }
    }
    sent = news;
    const state = fresh.querySelector(".live .state");
    const shown = document.querySelector(".live .state");
    if (state && shown) shown.replaceWith(document.adoptNode(state));
    document.title = fresh.title;
    body.dataset.version = fresh.body.dataset.version;
  };

  const ask = async (address) => {
    const answer = await fetch(address, { cache: "no-store" });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return answer;
  };

  const follow = async () => {
    let took = 0;
    try {
      if (!document.hidden) {
        const news = isReading() ? {} : await (await ask(body.dataset.news)).json();
        if (news.version !== body.dataset.version) {
          const begun = performance.now();
          const text = await (await ask(location.pathname + location.search)).text();
          swap(new DOMParser().parseFromString(text, "text/html"));
          took = performance.now() - begun;
        }
        say("up to date");
      }
    } catch (error) {
      say(error instanceof TypeError ? "coevo view does not answer; it is asked again" : `not up to date: ${error.message}`);
    }
    setTimeout(follow, isReading() ? 0 : Math.max(pause, 2 * took));
  };

  document.addEventListener("visibilitychange", () => { if (!document.hidden) say("asking"); });
  setTimeout(follow, isReading() ? 0 : pause);
})();
