// #/operations/tokens: who may do what, until when, and who called last.

import {TokenEntry_Kind, type TokenEntry} from 'proto/admin_pb';
import {admin} from '../api/clients';
import {useLoad} from '../api/load';
import {hex} from '../parts/format';
import {Command, Remark, Section, State, When} from '../parts/layout';
import {Loading} from '../parts/notice';
import {Table} from '../parts/table';
import {Name, Names} from '../parts/text';
import {OperationsPage} from './frame';
import {Refused} from './refused';

const REFRESH_MS = 30_000, SOON_SECONDS = 7 * 86_400;

function Expiry({token}: {token: TokenEntry}) {
  const left = Number(token.expiresUnixSeconds) - Date.now() / 1000;
  if (token.expiresUnixSeconds === 0n) return <>never</>;
  if (left <= 0) return <State tone="bad">expired <When at={token.expiresUnixSeconds}/><small><When at={token.expiresUnixSeconds} exact/></small></State>;
  return left < SOON_SECONDS ? <State tone="warn"><When at={token.expiresUnixSeconds}/><small><When at={token.expiresUnixSeconds} exact/></small></State> : <When at={token.expiresUnixSeconds} exact/>;
}

export function Tokens() {
  const loaded = useLoad(async signal => (await admin.listTokens({}, {signal})).tokens, [], {everyMs: REFRESH_MS});
  const tokens = loaded.data;
  return <OperationsPage tab="tokens" title="Tokens" lead="The entries of the access policy. Nobody can call with what stands here.">
    <Refused error={loaded.error} retry={loaded.reload} needs="coppiced --policy policy.json" what="The policy is"/>
    {tokens === undefined ? loaded.loading && <Loading/> : <Table caption="Tokens, then certificates, each in the policy's order" quiet rows={tokens}
      rowKey={(token, i) => `${hex(token.sha256Prefix)}/${i}`} columns={[
        {head: 'name', cell: token => <Name text={token.name} most={32}/>},
        {head: 'kind', cell: token => token.kind === TokenEntry_Kind.CERTIFICATE ? 'certificate' : 'token'},
        {head: 'roles', cell: token => <Names texts={token.roles}/>},
        {head: 'resources', cell: token => token.resources.length === 0 ? '–' : <Names texts={token.resources} most={4}/>},
        {head: 'expires', cell: token => <Expiry token={token}/>},
        {head: 'last used (UTC)', cell: token => token.lastUsedDay === '' ? 'never' : <span class="when"><Name text={token.lastUsedDay} most={20}/></span>},
        {head: 'hash', cell: token => <code class="when">{hex(token.sha256Prefix)}…</code>},
      ]} empty={<Remark>The policy has no entry.</Remark>}/>}
    <Section title="A new token">
      <p>Tokens are made where the daemon runs, never here: the command prints the token once, for its holder, and the line for the policy.
        Put the line into the policy file and send the daemon SIGHUP.</p>
      <Command text="coppiced token --name NAME --role analyst"/>
      <p>To take one away, remove its line and send SIGHUP.</p>
    </Section>
  </OperationsPage>;
}
