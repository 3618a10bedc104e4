// Bars with their numbers, as a table: the bars repeat what the numbers say, for the eye.

import type {ComponentChildren} from 'preact';
import {useState} from 'preact/hooks';
import {Pager} from '../parts/table';

export interface Bar {
  key: string | number;
  name: ComponentChildren;
  value: number;
  /** The whisker reaches this far to both sides; null if unknown. */
  error?: number | null;
  text: ComponentChildren;
  strong?: boolean;
}

const PAGE_SIZE = 20;

/** Where a value stands between the ends, in percent. */
function placeOf(value: number, low: number, high: number): number {
  return high > low ? 100 * Math.min(Math.max((value - low) / (high - low), 0), 1) : 0;
}

function BarCell({bar: {value, error}, low, high}: {bar: Bar; low: number; high: number}) {
  const zero = placeOf(0, low, high), end = placeOf(value, low, high);
  const left = Math.min(zero, end), width = Math.abs(end - zero);
  const from = error == null ? null : placeOf(value - error, low, high), to = error == null ? 0 : placeOf(value + error, low, high);
  return <span class="bar" aria-hidden="true">
    <i class={value < 0 ? 'fill less' : 'fill'} style={{left: `${left}%`, width: `${width}%`}}/>
    {from !== null && <i class="whisker" style={{left: `${from}%`, width: `${to - from}%`}}/>}
    {low < 0 && <i class="zero" style={{left: `${zero}%`}}/>}
  </span>;
}

/** Shows 20 bars per page, all on one scale from 0 (or the lowest) to `most` (or the highest). */
export function BarTable({caption, heads, bars, most, what}: {
  caption: string; heads: readonly [string, string]; bars: readonly Bar[]; most?: number; what: string;
}) {
  const [first, setFirst] = useState(0);
  const reach = (sign: number) => bars.reduce((far, {value, error}) => Math.max(far, sign * value + (Number.isFinite(error) ? error! : 0)), 0);
  const high = most ?? (reach(1) || (reach(-1) > 0 ? 0 : 1)), low = bars.some(({value}) => value < 0) ? -reach(-1) : 0;
  const begin = first < bars.length ? first : 0;
  return <>
    <figure class="table bars">
      <figcaption>{caption}</figcaption>
      <table aria-label={caption}>
        <thead><tr><th scope="col">{heads[0]}</th><th scope="col" class="bar-head"><span class="hidden">bar</span></th><th scope="col" class="n">{heads[1]}</th></tr></thead>
        <tbody>{bars.slice(begin, begin + PAGE_SIZE).map(bar => <tr key={bar.key} class={bar.strong ? 'strong' : ''}>
          <th scope="row">{bar.name}</th>
          <td class="bar-cell"><BarCell bar={bar} low={low} high={high}/></td>
          <td class="n">{bar.text}</td>
        </tr>)}</tbody>
      </table>
    </figure>
    <Pager first={begin} size={PAGE_SIZE} total={bars.length} onFirst={setFirst} what={what}/>
  </>;
}
