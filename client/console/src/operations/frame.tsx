// What the pages of operations have in common.

import type {ComponentChildren} from 'preact';
import {Page} from '../parts/layout';
import {Tabs} from '../parts/tabs';
import {href} from '../route';

const TABS = [['health', 'Health', href('operations')], ['backups', 'Backups', href('operations', 'backups')],
  ['audit', 'Audit log', href('operations', 'audit')], ['tokens', 'Tokens', href('operations', 'tokens')]] as const;

export function OperationsPage({tab, title, lead, actions, children}: {
  tab: 'health' | 'backups' | 'audit' | 'tokens'; title: string; lead: string; actions?: ComponentChildren; children: ComponentChildren;
}) {
  return <Page title={title} kind="Operations" kindHref={href('operations')} lead={lead} {...(actions === undefined ? {} : {actions})}>
    <Tabs label="Operations" tabs={TABS} current={tab}/>
    {children}
  </Page>;
}
