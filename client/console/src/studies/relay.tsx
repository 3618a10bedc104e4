// The reports of a study that came through its relay, in batches.

import {BatchState, ReportOutcome, type Batch, type Study} from 'proto/study_pb';
import {count, countOf, entryOf} from '../parts/format';
import {Remark, Section, When} from '../parts/layout';
import {Table} from '../parts/table';
import {BATCH_STATES, relayText} from './words';

const ACCEPTED = (batch: Batch) => batch.counts.find(({outcome}) => outcome === ReportOutcome.ACCEPTED)?.reports ?? 0n;

/** Empty for a study whose devices answer the curator directly. */
export function RelaySection({study}: {study: Study}) {
  const relay = study.relay, settings = study.settings?.relay;
  if (relay === undefined || settings === undefined) return null;
  return <Section title="Through a relay" aside={`batches of ${countOf(settings.minBatch, 'report')} or more`}>
    <p>{relayText(relay)}</p>
    {relay.newest.length > 0 && <Table caption="The newest batches" quiet rows={[...relay.newest].reverse()} rowKey={({id}) => String(id)} columns={[
      {head: 'came', cell: batch => <When at={batch.createdUnixSeconds}/>},
      {head: 'state', cell: ({state}) => entryOf(BATCH_STATES, state).word},
      {head: 'reports', number: true, cell: ({reports}) => count(reports)},
      {head: 'accepted', number: true, cell: batch => batch.state === BatchState.COUNTED ? count(ACCEPTED(batch)) : '–'},
      {head: 'what it means', cell: ({state}) => entryOf(BATCH_STATES, state).says},
    ]}/>}
    {relay.keysErased && <Remark>The private keys are erased: sealed reports of this study can be opened by nobody any more.</Remark>}
  </Section>;
}
