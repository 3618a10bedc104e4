// #/operations: what is wrong now and what to do, then how the daemon is.

import type {GetStatusResponse} from 'proto/admin_pb';
import {admin} from '../api/clients';
import {connection} from '../api/connection';
import {isUnimplemented} from '../api/errors';
import {useLoad} from '../api/load';
import {useStore} from '../api/store';
import {bytes, countOf, duration} from '../parts/format';
import {Command, Facts, Remark, Section, State, When} from '../parts/layout';
import {Loading, Notice} from '../parts/notice';
import {Name} from '../parts/text';
import {datasetHref} from '../datasets/where';
import {href} from '../route';
import {readAlarm} from './alarms';
import {Fleet} from './fleet';
import {OperationsPage} from './frame';
import {Refused} from './refused';

const REFRESH_MS = 5000;

const STORES = new Map([['rocksdb', 'RocksDB, in files of its own'], ['postgresql', 'PostgreSQL'], ['memory', 'memory: nothing is kept'], ['', 'not known']]);

function Verdict({status}: {status: GetStatusResponse}) {
  const {alarms, serving} = status;
  const stopped = !serving && <Notice kind="error" title="The daemon does not serve">
    <p>It answers its operator alone. What it is missing stands below, and its log says more: <code>journalctl -u coppiced</code>.</p></Notice>;
  if (alarms.length === 0) {
    return <>{stopped}{serving && <p class="lead" role="status"><State tone="good">All is well.</State> The daemon serves, and nothing needs you now.</p>}</>;
  }
  return <>{stopped}
    <Section title={`${countOf(alarms.length, 'thing needs', 'things need')} you now`}>
      {alarms.map(text => {
        const {what, advice, names} = readAlarm(text);
        const links = names.map(({kind, id}) =>
          <a key={`${kind}/${id}`} class="button small" href={kind === 'datasets' ? datasetHref(id) : href(kind, id)}>{kind}/{id}</a>);
        return <Notice key={text} kind="warning" title={<Name text={what} most={300}/>} {...(links.length === 0 ? {} : {action: links})}>
          <p>{advice === '' ? 'The daemon\'s log says more; docs/operating.md says what to do.' : <Name text={advice} most={1000}/>}</p></Notice>;
      })}
    </Section></>;
}

function About({status}: {status: GetStatusResponse}) {
  const uptime = Date.now() / 1000 - Number(status.startedUnixSeconds);
  return <Section title="The daemon">
    <Facts facts={[
      ['Serving', status.serving ? <State tone="good">yes</State> : <State tone="bad">no</State>],
      ['Version', <Name text={status.version} most={40}/>],
      ['Serving since', <><When at={status.startedUnixSeconds} exact/><br/><small>{duration(uptime)}</small></>],
      ['Store', STORES.get(status.store) ?? <Name text={status.store} most={40}/>],
      ['Free on its disk', status.diskFreeBytes > 0n ? bytes(status.diskFreeBytes) : status.store === 'rocksdb' ? 'not known' : 'not in files here'],
      ['Backups', status.hasBackups ? <a href={href('operations', 'backups')}>made when asked for</a> : 'none: started without --backup-dir'],
      ['Access policy', status.hasPolicy ? <a href={href('operations', 'tokens')}>in force</a> : <><State tone="warn">none</State><small>Whoever reaches it may do everything.</small></>],
    ]}/>
  </Section>;
}

export function Health() {
  const loaded = useLoad(signal => admin.getStatus({}, {signal}), [], {everyMs: REFRESH_MS});
  const {lost} = useStore(connection);
  const status = loaded.data;
  return <OperationsPage tab="health" title="Health" lead="What needs the operator now, and how the curator is. It is looked at anew every few seconds.">
    {lost && <Notice kind="error" title="The daemon cannot be reached"><p>What stands below is as it was. Look whether coppiced runs, and at the end of its log:</p>
      <Command text="systemctl status coppiced; journalctl -u coppiced -n 50"/></Notice>}
    <Refused error={loaded.error} retry={loaded.reload} what="The curator's health is"/>
    {isUnimplemented(loaded.error) && status === undefined && <Remark>An older daemon tells its health by <code>coppice health</code> alone.</Remark>}
    {status === undefined ? loaded.loading && <Loading/> : <>
      <Verdict status={status}/>
      <About status={status}/>
      <Fleet fleet={status.fleet}/>
    </>}
  </OperationsPage>;
}
