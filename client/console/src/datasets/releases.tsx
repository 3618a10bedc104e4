// What a private path released, and what each time cost.

import type {Release} from 'proto/model_pb';
import {countOf, count, delta, epsilon} from '../parts/format';
import {Table} from '../parts/table';
import {Name} from '../parts/text';

function timesOf(releases: readonly Release[]): bigint {
  return releases.reduce((sum, {times}) => sum + times, 0n);
}

function costOf(release: Release): string {
  return `${epsilon(release.epsilonNanos)}${release.deltaAtto > 0n ? `, δ ${delta(release.deltaAtto)}` : ''}`;
}

/** For a table's cell: the number of releases, and which on demand. */
export function ReleaseList({releases, isPlan, isOpen}: {releases: readonly Release[]; isPlan: boolean; isOpen: boolean}) {
  if (releases.length === 0) return <>–</>;
  return <details class="releases" open={isOpen}><summary>{countOf(timesOf(releases), 'release')}{isPlan ? ' planned' : ' made'}</summary>
    <ul>{releases.map((release, i) => <li key={i}>{count(release.times)} × <Name text={release.what} most={120}/>
      <small><Name text={release.mechanism} most={60}/>, ε {costOf(release)} each, of {release.part === '' ? 'all rows' : <Name text={release.part} most={60}/>}</small></li>)}</ul>
  </details>;
}

/** Shows them as a table of their own. */
export function ReleaseTable({caption, releases}: {caption: string; releases: readonly Release[]}) {
  return <Table caption={caption} rows={releases} rowKey={(_, i) => i} columns={[
    {head: 'what', cell: release => <span class="release"><Name text={release.what} most={120}/></span>},
    {head: 'mechanism', cell: release => <Name text={release.mechanism} most={60}/>},
    {head: 'ε each', number: true, cell: release => costOf(release)},
    {head: 'times', number: true, cell: release => count(release.times)},
    {head: 'of the rows', cell: release => release.part === '' ? 'all' : <Name text={release.part} most={60}/>},
  ]} empty={<p class="remark">Nothing is released.</p>}/>;
}
