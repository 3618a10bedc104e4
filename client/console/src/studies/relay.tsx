// The reports of a study that came through its relay, in batches.

import {BatchState, BatchStateSchema, ReportOutcome, type Batch, type Study} from 'proto/study_pb';
import {meaningOf, wordOf} from '../parts/enums';
import {count, countOf} from '../parts/format';
import {Facts, Remark, Section, When} from '../parts/layout';
import {Table} from '../parts/table';

const ACCEPTED = (batch: Batch) => batch.counts.find(({outcome}) => outcome === ReportOutcome.ACCEPTED)?.reports ?? 0n;

/** Empty for a study whose devices answer the curator directly. */
export function RelaySection({study}: {study: Study}) {
  const relay = study.relay, settings = study.settings?.relay;
  if (relay === undefined || settings === undefined) return null;
  return <Section title="Through a relay" aside={`batches of ${countOf(settings.minBatch, 'report')} or more`}>
    <Facts facts={[
      ['Batches that have come', count(relay.batches)],
      ['Reports that wait to be opened', count(relay.waiting)],
      relay.leastAccepted > 0n && ['Accepted reports of the smallest batch', count(relay.leastAccepted)],
    ]}/>
    {relay.newest.length > 0 && <Table caption="The newest batches" quiet rows={[...relay.newest].reverse()} rowKey={({id}) => String(id)} columns={[
      {head: 'came', cell: batch => <When at={batch.createdUnixSeconds}/>},
      {head: 'state', cell: ({state}) => wordOf(BatchStateSchema, state)},
      {head: 'reports', number: true, cell: ({reports}) => count(reports)},
      {head: 'accepted', number: true, cell: batch => batch.state === BatchState.COUNTED ? count(ACCEPTED(batch)) : '–'},
      {head: 'what it means', cell: ({state}) => meaningOf(BatchStateSchema, state)},
    ]}/>}
    {relay.keysErased && <Remark>The private keys are erased: sealed reports of this study can be opened by nobody any more.</Remark>}
  </Section>;
}
