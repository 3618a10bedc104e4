// Names as the API has them: "studies/ID".

/** "studies/a" → "a". */
export function idOf(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}

/** An id for calls that may be repeated safely, such as CreateStudy: make one when the user begins, not per try. */
export function newRequestId(): string {
  return crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
}
