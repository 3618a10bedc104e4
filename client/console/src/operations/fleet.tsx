// Who leads a fleet of curators.

import type {FleetStatus} from 'proto/admin_pb';
import {count, duration} from '../parts/format';
import {Facts, Remark, Section, When} from '../parts/layout';
import {Name} from '../parts/text';

export function Fleet({fleet}: {fleet: FleetStatus | undefined}) {
  if (fleet === undefined) return <Section title="Fleet"><Remark>This curator is alone: if it stops, nobody takes over. A fleet needs PostgreSQL and --fleet-address (docs/fleet.md).</Remark></Section>;
  return <Section title="Fleet" aside="The leader owns all studies, datasets and endpoints; the others stand by, and one of them takes over if it is gone.">
    <Facts facts={[
      ['Leader', <Name text={fleet.leader}/>],
      ['Leads since', <When at={fleet.leadingSinceUnixSeconds} exact/>],
      ['Epoch of its lease', count(fleet.epoch)],
      ['A lease lasts', duration(fleet.leaseSeconds)],
    ]}/>
  </Section>;
}
