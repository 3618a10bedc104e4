// For searchtools.js: words that were searched for are not marked in pages, which would take a browser's storage.
const SPHINX_HIGHLIGHT_ENABLED = false;
