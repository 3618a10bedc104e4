// Who leads a fleet of curators, and who is ready to take over.

import type {FleetStatus} from 'proto/admin_pb';
import {count, duration, hex} from '../parts/format';
import {Facts, Remark, Section, State, When} from '../parts/layout';
import {Table} from '../parts/table';
import {Name} from '../parts/text';

export function Fleet({fleet}: {fleet: FleetStatus | undefined}) {
  if (fleet === undefined) return <Section title="Fleet"><Remark>This curator is alone: if it stops, nobody takes over. A fleet needs PostgreSQL and --peer-listen (docs/fleet.md).</Remark></Section>;
  const late = 3 * Math.max(fleet.leaseSeconds, 1);
  return <Section title="Fleet" aside="The leader owns all studies, datasets and endpoints; the others hand calls on to it.">
    <Facts facts={[
      ['Leader', <Name text={fleet.leader}/>],
      ['Leads since', <When at={fleet.leadingSinceUnixSeconds} exact/>],
      ['Epoch of its lease', count(fleet.epoch)],
      ['A lease lasts', duration(fleet.leaseSeconds)],
    ]}/>
    <Table caption="Curators that hand calls on to it" rows={fleet.peers} rowKey={peer => hex(peer.certificatePrefix)} columns={[
      {head: 'certificate', cell: peer => <code>{hex(peer.certificatePrefix)}…</code>},
      {head: 'last call', cell: peer => `${duration(peer.secondsSinceCall)} ago`},
      {head: 'state', cell: peer => peer.secondsSinceCall <= late ? <State tone="good">heard of</State> : <State tone="warn">silent</State>},
    ]} empty={<Remark>No other curator has called lately. If you run several, look whether they reach the leader.</Remark>}/>
  </Section>;
}
