// What the pages of operations have in common.

import type {ComponentChildren} from 'preact';
import {Page, SubNav} from '../parts/layout';
import {href} from '../route';

const ADDRESSES = {health: href('operations'), backups: href('operations', 'backups'), audit: href('operations', 'audit'), tokens: href('operations', 'tokens')};
const LINKS = [['Health', ADDRESSES.health], ['Backups', ADDRESSES.backups], ['Audit log', ADDRESSES.audit], ['Tokens', ADDRESSES.tokens]] as const;

export function OperationsPage({tab, title, lead, actions, children}: {
  tab: keyof typeof ADDRESSES; title: string; lead: string; actions?: ComponentChildren; children: ComponentChildren;
}) {
  return <Page title={title} kind="Operations" kindHref={href('operations')} lead={lead} {...(actions === undefined ? {} : {actions})}>
    <SubNav label="Operations" links={LINKS} current={ADDRESSES[tab]}/>
    {children}
  </Page>;
}
