// Below each hit of Sphinx's search: the section that has its words, and the text around them.
//
// The text of a page is a script, excerpts/PAGE.js, which is loaded when a hit of the page comes into view: neither the
// policy of coppiced nor a page that was opened from a file lets a script fetch anything.
"use strict";
{
  const AROUND = 220; // characters of an excerpt
  const BEFORE = 60; // of these before its first word
  const WORD = /[\p{Letter}\p{Number}_]+/gu;
  const stemmer = new Stemmer();
  const stemOf = new Map();
  const stem = (word) => {
    if (!stemOf.has(word)) stemOf.set(word, stemmer.stemWord(word.toLowerCase()));
    return stemOf.get(word);
  };
  const asked = (new URLSearchParams(window.location.search).get("q") || "").match(WORD) || [];
  const wanted = asked.filter((word) => !stopwords.includes(word.toLowerCase())).map(stem);

  // Where the words of the query stand in a text. As Sphinx does, parts of words count where no whole one is there.
  const find = (text, isPart) =>
    [...text.matchAll(WORD)].flatMap((match) => {
      const which = wanted.findIndex((word) => (isPart ? match[0].toLowerCase().includes(word) : stem(match[0]) === word));
      return which < 0 ? [] : [{ which, start: match.index, end: match.index + match[0].length }];
    });
  const countWords = (found) => new Set(found.map((match) => match.which)).size;

  const choose = (sections, anchor, isPart) => {
    let best = null;
    for (const [id, title, text] of sections) {
      if (anchor && id !== anchor) continue;
      const found = find(text, isPart);
      const score = countWords(find(`${title} ${text}`, isPart)) + countWords(find(title, isPart)) / 10;
      if (best === null || score > best.score) best = { id, title, text, found, score };
    }
    return best;
  };

  // From before the match that has the most different words after it.
  const startOf = (text, found) => {
    const words = (from) => countWords(found.filter((match) => match.start >= from && match.end <= from + AROUND - BEFORE));
    const first = found.reduce((best, match) => (words(match.start) > words(best.start) ? match : best), found[0] || { start: 0 });
    const start = Math.max(0, first.start - BEFORE);
    return start === 0 ? 0 : text.indexOf(" ", start) + 1;
  };

  const excerptOf = ({ text, found }) => {
    const start = startOf(text, found);
    const end = start + AROUND < text.length ? Math.max(text.lastIndexOf(" ", start + AROUND), start) || start + AROUND : text.length;
    const excerpt = document.createElement("p");
    excerpt.className = "context";
    let at = start;
    excerpt.append(start > 0 ? "… " : "");
    for (const match of found.filter((match) => match.start >= start && match.end <= end)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(match.start, match.end);
      excerpt.append(text.slice(at, match.start), mark);
      at = match.end;
    }
    excerpt.append(text.slice(at, end), end < text.length ? " …" : "");
    return excerpt;
  };

  const shown = new Set(); // sections that a hit above has shown already
  const describe = (item, sections) => {
    const link = item.querySelector("a");
    const anchor = decodeURIComponent(link.hash.slice(1));
    const whole = choose(sections, anchor, false);
    const best = whole === null || whole.score >= 1 ? whole : choose(sections, anchor, true);
    if (best === null) return;
    const place = `${link.pathname}#${best.id}`;
    if (shown.has(place)) return item.remove();
    shown.add(place);
    if (!anchor && best.id !== sections[0][0]) {
      const section = item.appendChild(document.createElement("p"));
      section.className = "section";
      const there = section.appendChild(document.createElement("a"));
      there.href = `${link.getAttribute("href")}#${best.id}`;
      there.textContent = best.title;
    }
    if (best.text) item.appendChild(excerptOf(best));
  };

  const waiting = new Map(); // hits by the page whose text is being loaded
  const pages = new Map();
  const Excerpts = {
    add: (page, sections) => {
      pages.set(page, sections);
      (waiting.get(page) || []).forEach((item) => describe(item, sections));
      waiting.delete(page);
    },
  };
  window.Excerpts = Excerpts;

  const load = (item) => {
    const page = item.querySelector("a").getAttribute("href").split("#")[0].slice(0, -DOCUMENTATION_OPTIONS.LINK_SUFFIX.length);
    if (pages.has(page)) return describe(item, pages.get(page));
    if (waiting.has(page)) return waiting.get(page).push(item);
    waiting.set(page, [item]);
    document.head.appendChild(document.createElement("script")).src = `${DOCUMENTATION_OPTIONS.URL_ROOT}excerpts/${page}.js`;
  };
  const inView = new IntersectionObserver((entries) =>
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      inView.unobserve(entry.target);
      load(entry.target);
    })
  );
  new MutationObserver((changes) =>
    changes.flatMap((change) => [...change.addedNodes]).filter((node) => node.nodeName === "LI").forEach((item) => inView.observe(item))
  ).observe(document.getElementById("search-results"), { childList: true, subtree: true });
}
