// Which page is shown: "#/studies/a%2Fb" is ['studies', 'a/b'].

import {createStore} from './api/store';

function read(): string[] {
  const parts = location.hash.replace(/^#\/?/, '').split('?')[0]!.split('/').filter(part => part !== '');
  return parts.map(part => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}

export const route = createStore<string[]>(read());

window.addEventListener('hashchange', () => route.set(read()));

/** The address of a page: href('studies', id). */
export function href(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

export function go(...parts: string[]): void {
  location.hash = href(...parts);
}
