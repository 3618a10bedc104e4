// Formats numbers, times and sizes for people. English, like the pages that commands write.

const COUNT = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});
const ABSENT = '–';

/** 12345 → "12,345". */
export function count(value: bigint | number): string {
  return COUNT.format(value);
}

/** "1 report", "2 reports". */
export function countOf(value: bigint | number, one: string, many = `${one}s`): string {
  return `${count(value)} ${Number(value) === 1 ? one : many}`;
}

/** Three digits after the point, a true minus sign. */
export function decimal(value: number | undefined, digits = 3): string {
  if (value === undefined || Number.isNaN(value)) return ABSENT;
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  return value.toFixed(digits).replace('-', '−');
}

export function signedDecimal(value: number | undefined, digits = 3): string {
  const text = decimal(value, digits);
  return value !== undefined && value >= 0 ? `+${text}` : text;
}

/** At most this many significant digits, as %.4g would. */
export function significant(value: number | undefined, digits = 4): string {
  if (value === undefined || Number.isNaN(value)) return ABSENT;
  if (!Number.isFinite(value)) return decimal(value);
  return String(Number(value.toPrecision(digits))).replace('-', '−');
}

/** The shortest text that reads back as the same number. */
export function plain(value: number): string {
  return String(value).replace('-', '−');
}

/** 0.283 → "28.3 %". */
export function percent(share: number, digits = 1): string {
  return `${decimal(100 * share, digits)} %`;
}

function scaled(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0');
  const whole = text.slice(0, -digits), part = text.slice(-digits).replace(/0+$/, '');
  return part === '' ? whole : `${whole}.${part}`;
}

/** Billionths as a number: 500000000n → "0.5". Exact. */
export function epsilon(nanos: bigint): string {
  return scaled(nanos, 9);
}

const DELTA_DIGITS = 18;

/** 10^-18 as a number, with a true minus sign: 10n ** 12n → "1e−6"; 0 → "0". Exact. */
export function delta(atto: bigint): string {
  if (atto === 0n || atto >= 10n ** 15n) return scaled(atto, DELTA_DIGITS);
  const all = atto.toString(), digits = all.replace(/0+$/, '');
  return `${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ''}e−${DELTA_DIGITS - all.length + 1}`;
}

/** "0.5" → 500000000n; null unless it is a positive number with at most nine digits after the point. */
export function parseEpsilon(text: string): bigint | null {
  const found = /^\s*(\d{1,9})(?:\.(\d{1,9}))?\s*$/.exec(text);
  if (found === null) return null;
  const nanos = BigInt(found[1]!) * 1_000_000_000n + BigInt((found[2] ?? '').padEnd(9, '0'));
  return nanos > 0n ? nanos : null;
}

/** What is wrong with a text that parseDelta() does not take. */
export const DELTA_WANTED = 'Give 0, or a number from 1e-18 to below 1, such as 1e-6.';

/**
 * "1e-6" → 10n ** 12n; null unless it is 0 or a number from 1e-18 to below 1. Digits after the 18th are left out, so that
 * nobody spends more than was typed, as in common/privacy/delta.cc.
 */
export function parseDelta(text: string): bigint | null {
  const found = /^\s*(\d*)\.?(\d*)(?:e([+-]?\d{1,9}))?\s*$/i.exec(text);
  if (found === null) return null;
  const [, whole = '', part = '', exponent = '0'] = found, digits = whole + part;
  if (digits === '') return null;
  const zeros = digits.search(/[1-9]/);
  if (zeros < 0) return 0n;
  const place = whole.length + Number(exponent) - zeros; // the number is 0.SIGNIFICANT * 10^place
  if (place > 0 || place <= -DELTA_DIGITS) return null;
  const kept = DELTA_DIGITS + place;
  return BigInt(digits.slice(zeros, zeros + kept).padEnd(kept, '0'));
}

/** A whole number from `min` to `max`, or null. Takes "10,000" and "10 000" too. */
export function parseCount(text: string, min = 0, max = Number.MAX_SAFE_INTEGER): number | null {
  const digits = text.replace(/[,\s_]/g, '');
  const value = /^\d{1,16}$/.test(digits) ? Number(digits) : NaN;
  return value >= min && value <= max ? value : null;
}

export function bytes(value: bigint | number): string {
  let size = Number(value);
  for (const unit of ['bytes', 'kB', 'MB', 'GB']) {
    if (size < 1000) return `${unit === 'bytes' ? size : size.toPrecision(3)} ${unit}`;
    size /= 1000;
  }
  return `${size.toPrecision(3)} TB`;
}

/** Bytes as lower-case hex; the first `most` of them and "…" if there are more. */
export function hex(data: Uint8Array, most = Infinity): string {
  const text = Array.from(data.slice(0, most), byte => byte.toString(16).padStart(2, '0')).join('');
  return data.length > most ? `${text}…` : text;
}

const pad = (value: number) => String(value).padStart(2, '0');

/** Seconds since 1970 as "2026-01-31 14:05", by the browser's clock; "–" for 0. */
export function time(unixSeconds: bigint | number): string {
  if (Number(unixSeconds) === 0) return ABSENT;
  const at = new Date(1000 * Number(unixSeconds));
  if (Number.isNaN(at.getTime())) return ABSENT;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

/** 93784 → "1 day 2 h"; the two largest units, or `most` of them. */
export function duration(seconds: number, most = 2): string {
  if (!(seconds >= 1)) return 'less than a second';
  const whole = Math.round(seconds);
  const days = Math.floor(whole / 86400);
  const parts: [number, string][] = [[days, days === 1 ? 'day' : 'days'], [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'], [whole % 60, 's']];
  const first = parts.findIndex(([value]) => value > 0);
  return parts.slice(first, first + most).filter(([value]) => value > 0).map(([value, unit]) => `${value} ${unit}`).join(' ');
}

/** "3 min ago", "in 2 days". */
export function relative(unixSeconds: bigint | number, now = Date.now() / 1000): string {
  const seconds = now - Number(unixSeconds);
  if (Math.abs(seconds) < 5) return 'now';
  return seconds > 0 ? `${duration(seconds, 1)} ago` : `in ${duration(-seconds, 1)}`;
}
