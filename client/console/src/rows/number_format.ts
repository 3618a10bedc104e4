// Numbers that are not plain decimals, as docs/schema.md describes them and common/table/number_format.cc reads them: a
// format is written as the number 1234.5 is written in it.

export interface NumberFormat {
  /** Such as "$". */
  prefix: string;
  /** Such as "EUR". A percent sign must be there, others may be left out. */
  suffix: string;
  /** "1,234.5" and the like. */
  body: string;
}

// Those with marks come before those without.
const BODIES = ['1,234.5', '1.234,5', '1 234,5', '1 234.5', '1\'234.5', '1234.5', '1234,5'];
const MOST_AFFIX_BYTES = 16;
// Blanks are those of ASCII alone.
const FRONT_BLANKS = /^[\t-\r ]+/, BACK_BLANKS = /[\t-\r ]+$/;

const strip = (text: string) => text.replace(FRONT_BLANKS, '').replace(BACK_BLANKS, '');

function isAffix(text: string): boolean {
  return new TextEncoder().encode(text).length <= MOST_AFFIX_BYTES && !/[0-9+\-.,']/.test(text);
}

/** The format, or what there is in words. */
export function parseNumberFormat(text: string): NumberFormat | string {
  for (const body of BODIES) {
    const at = text.indexOf(body);
    if (at < 0) continue;
    const format = {prefix: strip(text.slice(0, at)), suffix: strip(text.slice(at + body.length)), body};
    if (isAffix(format.prefix) && isAffix(format.suffix)) return format;
  }
  return `a number format is how 1234.5 is written: ${BODIES.join('  ')}, with a currency or a percent sign before or after it if the numbers have one`;
}

export function formatText({prefix, suffix, body}: NumberFormat): string {
  return `${prefix}${body}${/^[A-Za-z]/.test(suffix) ? ' ' : ''}${suffix}`;
}

/** Without the marks between thousands; null if they do not stand between groups of three. */
function joinGroups(whole: string, mark: string): string | null {
  const groups = mark === '' ? [whole] : whole.split(mark);
  if (!groups.every(group => /^[0-9]*$/.test(group))) return null;
  if (groups.length === 1) return whole;
  const [first, ...rest] = groups;
  return first!.length >= 1 && first!.length <= 3 && rest.every(group => group.length === 3) ? groups.join('') : null;
}

/** The number as a plain decimal, or null if `text` is not written so. */
export function plainNumber(text: string, {prefix, suffix, body}: NumberFormat): string | null {
  let rest = strip(text.replace(/[\u00a0\u202f\u2009]/g, ' ').replace(/\u2212/g, '-').replace(/\u2019/g, '\''));
  let negative = false;
  const takeSign = () => {
    if (rest.startsWith('-')) negative = !negative;
    rest = rest.replace(/^[+-]/, '');
  };
  takeSign();
  if (prefix !== '' && rest.startsWith(prefix)) {
    rest = rest.slice(prefix.length).replace(FRONT_BLANKS, '');
    takeSign();
  }
  if (suffix !== '' && rest.endsWith(suffix)) rest = rest.slice(0, -suffix.length);
  else if (suffix.includes('%')) return null;
  rest = rest.replace(BACK_BLANKS, '');
  const decimal = body.at(-2)!, thousands = /[0-9]/.test(body[1]!) ? '' : body[1]!, at = rest.indexOf(decimal);
  const fraction = at < 0 ? '0' : rest.slice(at + 1), whole = joinGroups(at < 0 ? rest : rest.slice(0, at), thousands);
  if (whole === null || !/^[0-9]+$/.test(fraction) || (whole === '' && at < 0)) return null;
  return `${negative ? '-' : ''}${whole === '' ? '0' : whole}.${fraction}`;
}
