// What coevo puts into a page: it tells the page as text, one line per element, and finds elements by their number.
// An element keeps its number as long as the page is loaded. Everything is bounded: characters of a text, options of a
// list, characters and nodes of the whole. Texts are quoted as JSON strings without control and format characters, so
// that nothing in a page can begin a line of its own.
(() => {
  const TEXT = 200, OPTIONS = 40, NODES = 20000, DEPTH = 8;
  const NEVER = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "META", "LINK", "TITLE", "BR", "WBR", "DEFS"]);
  const INLINE = new Set(["B", "I", "EM", "STRONG", "U", "S", "SMALL", "SUB", "SUP", "MARK", "CODE", "FONT", "TSPAN"]);
  const CONTROLS = new Set(["A", "BUTTON", "INPUT", "SELECT", "TEXTAREA", "LABEL", "SUMMARY", "OPTION", "IFRAME"]);
  const GROUPS = new Set(["TR", "LI", "FIELDSET", "DIALOG"]);
  const SHAPES = new Set(["rect", "circle", "ellipse", "polygon", "polyline", "path", "line", "IMG", "CANVAS", "VIDEO"]);
  const PLAIN_INPUTS = new Set(["text", "search", "email", "url", "tel", "password", "number"]);
  const SET_INPUTS = new Set(["date", "time", "month", "week", "datetime-local", "color", "range"]);
  const numbers = new WeakMap(), elements = new Map();

  const numberOf = (element) => {
    if (!numbers.has(element)) {
      numbers.set(element, elements.size + 1);
      elements.set(elements.size + 1, element);
    }
    return numbers.get(element);
  };
  const cut = (text, most) => {
    const characters = Array.from(text);
    return characters.length > most ? characters.slice(0, most).join("") + "…" : text;
  };
  const clean = (text) => String(text).replace(/\s+/g, " ").replace(/[\p{Cc}\p{Cf}]/gu, "").trim();
  const quote = (text, most = TEXT) => JSON.stringify(cut(clean(text), most));
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
  const hasArea = (box) => box.width >= 1 && box.height >= 1;

  const optionsOf = (select) => {
    const all = Array.from(select.options), shown = all.slice(0, OPTIONS).map((option) => quote(option.label, 60));
    return shown.join(" | ") + (all.length > OPTIONS ? ` | … ${all.length - OPTIONS} more` : "");
  };
  const stateOf = (element) => {
    const parts = [], tag = element.tagName;
    if (tag === "INPUT") {
      if (["checkbox", "radio"].includes(element.type)) parts.push(element.checked ? "checked" : "not checked");
      else if (element.value) parts.push(`value=${quote(element.value)}`);
    } else if (tag === "TEXTAREA" && element.value) parts.push(`value=${quote(element.value)}`);
    else if (tag === "SELECT") {
      const chosen = Array.from(element.selectedOptions, (option) => quote(option.label, 60));
      parts.push(`value=${chosen.join(" | ") || '""'}`, `options=${optionsOf(element)}`);
    }
    for (const name of ["placeholder", "aria-label", "alt", "title", "aria-expanded", "aria-selected"]) {
      if (element.getAttribute(name)) parts.push(`${name}=${quote(element.getAttribute(name), 80)}`);
    }
    if (element.disabled) parts.push("disabled");
    if (element.readOnly && tag !== "BUTTON") parts.push("read-only");
    if (element === document.activeElement && element !== document.body) parts.push("focused");
    return parts;
  };
  const looksOf = (element) => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    const drawn = style.fill === "none" ? style.stroke : style.fill;
    const colour = element instanceof SVGElement ? drawn : style.backgroundColor;
    const at = `at=${Math.round(box.x)},${Math.round(box.y)} size=${Math.round(box.width)}x${Math.round(box.height)}`;
    return colour === "rgba(0, 0, 0, 0)" ? [at] : [`colour=${quote(colour, 40)}`, at];
  };
  const kindOf = (element) => {
    const tag = element.tagName.toLowerCase(), role = element.getAttribute("role");
    const kind = tag === "input" ? `input ${element.type}` : tag;
    return role ? `${kind} role=${quote(role, 30)}` : kind;
  };
  const isPointed = (element) =>
    getComputedStyle(element).cursor === "pointer" && getComputedStyle(element.parentElement).cursor !== "pointer";
  const isControl = (element) =>
    CONTROLS.has(element.tagName) || Boolean(element.onclick) || element.isContentEditable || element.hasAttribute("tabindex") ||
    element.hasAttribute("role") || isPointed(element);
  const hasLooks = (element) => {
    if (!hasArea(element.getBoundingClientRect())) return false;
    if (SHAPES.has(element.tagName)) return true;
    if (element instanceof SVGElement || element.childElementCount) return false;
    const style = getComputedStyle(element);
    return style.backgroundColor !== "rgba(0, 0, 0, 0)" || style.backgroundImage !== "none" || style.borderStyle !== "none";
  };

  const observe = (most, skip) => {
    const lines = [];
    let length = 0, nodes = 0, hidden = 0;
    const print = (line, depth) => {
      const whole = "  ".repeat(Math.min(depth, DEPTH)) + line;
      // Once something did not fit nothing else is printed: what is told is the beginning of the page, without holes.
      if (hidden || length + whole.length + 1 > most) hidden += 1;
      else { lines.push(whole); length += whole.length + 1; }
    };
    const describe = (element, text) => {
      const bare = !text && !["INPUT", "SELECT", "TEXTAREA"].includes(element.tagName) && !element.childElementCount;
      const isNameless = bare || (element.tagName === "BUTTON" && !clean(element.innerText));
      const parts = [kindOf(element), ...(text ? [quote(text)] : []), ...stateOf(element)];
      // The name of an icon is in its class, if anywhere.
      if (isNameless && element.getAttribute("class")) parts.push(`class=${quote(element.getAttribute("class"), 60)}`);
      return `[${numberOf(element)}] ${parts.concat(bare ? looksOf(element) : []).join(" ")}`;
    };
    const walk = (element, depth) => {
      nodes += 1;
      if (nodes > NODES || NEVER.has(element.tagName) || (skip && element.matches(skip)) || !isShown(element)) return;
      const children = ["SELECT", "TEXTAREA", "IFRAME", "OBJECT", "VIDEO"].includes(element.tagName) ? [] : Array.from(element.childNodes);
      const inner = children.filter((node) => node.nodeType === 1 && !NEVER.has(node.tagName) && isShown(node));
      const isLeaf = element !== document.body && inner.every((node) => INLINE.has(node.tagName) && !node.childElementCount);
      if (isLeaf) {
        const box = element.getBoundingClientRect();
        // What only screen readers are told is kept in a box of a pixel.
        if (box.width <= 1 && box.height <= 1) return;
        const text = clean(element.innerText ?? element.textContent);
        if (isControl(element) || (children.length && text) || hasLooks(element)) print(describe(element, children.length ? text : ""), depth);
        return;
      }
      const isPrinted = element !== document.body && (isControl(element) || GROUPS.has(element.tagName));
      if (isPrinted) print(describe(element, ""), depth);
      for (const node of children) {
        if (node.nodeType === 1) walk(node, depth + isPrinted);
        else if (node.nodeType === 3 && clean(node.data)) print(`text ${quote(node.data)}`, depth + isPrinted);
      }
    };
    walk(document.body, 0);
    if (hidden || nodes > NODES) lines.push(`(the page goes on; ${hidden || "many"} more lines are not shown)`);
    return lines.join("\n");
  };

  const find = (number) => {
    const element = elements.get(number);
    return element && element.isConnected ? element : null;
  };
  const missing = (number) => ({ problem: `There is no element ${number} on the page.` });
  const locate = (number) => {
    const element = find(number);
    if (!element) return missing(number);
    if (!isShown(element)) return { problem: `Element ${number} is hidden now.` };
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const box = Array.from(element.getClientRects()).find(hasArea);
    if (!box) return { problem: `Element ${number} has no area.` };
    const x = box.x + box.width / 2, y = box.y + box.height / 2, top = document.elementFromPoint(x, y);
    // A hollow shape and a thin line have nothing at their middle; what lies behind them is no obstacle.
    const isOpen = top && (element.contains(top) || top.contains(element));
    if (!isOpen) return { problem: `Element ${number} is covered by another one${top ? `, ${numberOf(top)}` : ""}.` };
    return { x, y };
  };
  const fieldOf = (number) => {
    const element = find(number);
    if (!element) return missing(number);
    if (element.disabled || element.readOnly) return { problem: `Element ${number} cannot be changed.` };
    if (element.tagName === "INPUT" && SET_INPUTS.has(element.type)) return { kind: "set" };
    const isField = element.tagName === "TEXTAREA" || element.isContentEditable ||
      (element.tagName === "INPUT" && PLAIN_INPUTS.has(element.type));
    return isField ? { kind: "typed" } : { problem: `Element ${number} is not a field to type into.` };
  };
  const tellOfChange = (element) => {
    for (const name of ["input", "change"]) element.dispatchEvent(new Event(name, { bubbles: true }));
  };
  const put = (number, text) => {
    const element = find(number);
    element.value = text;
    tellOfChange(element);
    return element.value ? {} : { problem: `Element ${number} does not take ${quote(text)}.` };
  };
  const mark = (number) => {
    const element = find(number);
    element.focus();
    if (element.select) element.select();
    else getSelection().selectAllChildren(element);
    return { isEmpty: !(element.value ?? element.textContent) };
  };
  const choose = (number, text) => {
    const element = find(number);
    if (!element) return missing(number);
    if (element.tagName !== "SELECT") return { problem: `Element ${number} is not a list of options.` };
    if (element.disabled) return { problem: `Element ${number} cannot be changed.` };
    const all = Array.from(element.options), wanted = clean(text);
    const option = all.find((o) => clean(o.label) === wanted) || all.find((o) => o.value === text) ||
      all.find((o) => clean(o.label).toLowerCase() === wanted.toLowerCase());
    if (!option || option.disabled) return { problem: `Element ${number} has no option ${quote(text)}.` };
    element.focus();
    option.selected = true;
    tellOfChange(element);
    return {};
  };
  const scroll = (direction) => {
    const root = document.scrollingElement, canScroll = (e) => e.scrollHeight > e.clientHeight + 1 && e.clientHeight > 0;
    const isRolling = (e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowY) && isShown(e) && canScroll(e);
    const target = canScroll(root) ? root : Array.from(document.querySelectorAll("body *")).find(isRolling);
    if (!target) return { problem: "There is nothing to scroll." };
    const before = target.scrollTop;
    target.scrollBy({ top: direction * target.clientHeight * 0.8, behavior: "instant" });
    return target.scrollTop === before ? { problem: "It cannot be scrolled further." } : {};
  };
  // The clock of a page goes on where that of the page before stood; its date always begins at the same moment.
  const setDate = (milliseconds) => {
    const shift = milliseconds - Date.now(), now = () => Real.now() + shift, Real = Date;
    window.Date = new Proxy(Real, {
      construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now()], made),
      apply: () => new Real(now()).toString(),
      get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
    });
  };
  // The page of a task is all there is: a link or a form that would leave it does nothing.
  addEventListener("submit", (event) => event.preventDefault());
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (link && !link.getAttribute("href").startsWith("#") && link.protocol !== "javascript:") event.preventDefault();
  });
  window.coevo = { observe, locate, fieldOf, put, mark, choose, scroll, setDate };
})();
