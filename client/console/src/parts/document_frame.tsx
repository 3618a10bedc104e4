// A document that the daemon rendered, in a frame where nothing can run.

import {useEffect, useRef, useState} from 'preact/hooks';

interface HtmlPolicy {
  createHTML(text: string): string;
}

// The one place where text becomes HTML. The sandbox lacks allow-scripts, and the document's own policy
// forbids loading anything.
const policy: HtmlPolicy = ((globalThis as {trustedTypes?: {createPolicy(name: string, rules: HtmlPolicy): HtmlPolicy}}).trustedTypes
  ?.createPolicy('coppice', {createHTML: text => text})) ?? {createHTML: text => text};

const LONGEST_PX = 200_000;

/** Shows `html` at the height of its content, with "Print" and "Save" (as `fileName`). */
export function DocumentFrame({html, title, fileName}: {html: string; title: string; fileName: string}) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(480);
  useEffect(() => {
    const shown = frame.current;
    if (shown === null) return;
    let observer: ResizeObserver | null = null;
    const fit = () => {
      const root = shown.contentDocument?.documentElement;
      if (root) setHeight(Math.min(Math.ceil(root.getBoundingClientRect().height) + 2, LONGEST_PX));
    };
    const onLoad = () => {
      fit();
      observer?.disconnect();
      const root = shown.contentDocument?.documentElement;
      if (!root) return;
      observer = new ResizeObserver(fit);
      observer.observe(root);
    };
    shown.addEventListener('load', onLoad);
    shown.srcdoc = policy.createHTML(html);
    return () => {
      observer?.disconnect();
      shown.removeEventListener('load', onLoad);
    };
  }, [html]);
  const save = () => saveFile(fileName, new Blob([html], {type: 'text/html'}));
  return <div class="document">
    <div class="actions end">
      <button type="button" class="small" onClick={() => frame.current?.contentWindow?.print()}>Print</button>
      <button type="button" class="small" onClick={save}>Save as a file</button>
    </div>
    <iframe ref={frame} title={title} sandbox="allow-same-origin allow-modals" style={{height: `${height}px`}}/>
  </div>;
}

/** Has the browser save `content` under `fileName`. */
export function saveFile(fileName: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
