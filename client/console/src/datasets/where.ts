// Addresses of these pages. A dataset may have any name, so "id" comes before names that mean a page.

import {href} from '../route';

const PAGES = new Set(['new', 'jobs', 'job', 'curve', 'id']);

export function pathOf(id: string, ...page: string[]): string[] {
  return PAGES.has(id) ? ['datasets', 'id', id, ...page] : ['datasets', id, ...page];
}

/** '#/datasets/ID', '#/datasets/ID/train', '#/datasets/ID/upload'. */
export function datasetHref(id: string, ...page: string[]): string {
  return href(...pathOf(id, ...page));
}

/** '#/datasets/job/ID'. */
export function jobHref(id: string): string {
  return href('datasets', 'job', id);
}
