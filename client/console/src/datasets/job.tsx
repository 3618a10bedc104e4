// #/datasets/job/ID: a job while it waits, runs and ends.

import {JobState, JobStateSchema, type Job} from 'proto/training_pb';
import {useState} from 'preact/hooks';
import {datasets, training} from '../api/clients';
import {idOf} from '../api/ids';
import {useAction, useLoad, useWatch} from '../api/load';
import {meaningOf} from '../parts/enums';
import {countOf, delta, duration, epsilon} from '../parts/format';
import {Facts, Page, Section, Sentences, When} from '../parts/layout';
import {Confirm, Failure, Loading, Notice, Progress} from '../parts/notice';
import {Name, visible} from '../parts/text';
import {href} from '../route';
import {costText} from './budget';
import {JobStateText} from './job_table';
import {ReleaseTable} from './releases';
import {datasetHref} from './where';
import {hasEnded, neighboursOf} from './words';

function CancelJob({job}: {job: Job}) {
  const [isAsking, setAsking] = useState(false);
  const cancel = useAction(async signal => { await training.cancelJob({name: job.name}, {signal}); });
  const isQueued = job.state === JobState.QUEUED;
  return <>
    <button type="button" class="danger" onClick={() => { cancel.clear(); setAsking(true); }}>Cancel the job</button>
    {isAsking && <Confirm title="Cancel this job?" action="Cancel the job" danger running={cancel.running} error={cancel.error}
      onConfirm={() => void cancel.run().then(worked => { if (worked) setAsking(false); })} onClose={() => setAsking(false)}>
      {isQueued ? <p>It has not begun. If it is cancelled before it does, {costText(job.cost)} is refunded; if it begins first, that stays spent.</p>
        : <p>It runs, so {costText(job.cost)} stays spent, and there will be no model.</p>}
    </Confirm>}
  </>;
}

function Outcome({job}: {job: Job}) {
  const model = idOf(job.model);
  switch (job.state) {
    case JobState.QUEUED:
      return <Progress label={job.reason === '' ? 'It waits for its turn' : `It waits: ${visible(job.reason)}`}/>;
    case JobState.RUNNING:
      return <Progress label="Training" share={job.progress} {...(job.secondsLeft > 0 ? {note: `${Math.floor(100 * job.progress)} %, about ${duration(job.secondsLeft)} left`} : {})}/>;
    case JobState.DONE:
      return <Notice kind="done" title="The model is there" action={<a class="button primary small" href={href('models', model)}>Go to the model</a>}>
        <p>It is <Name text={model}/>, with a certificate that says what it cost and what it protects.</p></Notice>;
    case JobState.FAILED:
      return <Notice kind="error" title="The job failed"><p><bdi>{visible(job.reason)}</bdi></p>
        <p>{costText(job.cost)} stays spent: noise may have been drawn. Submit another job to try again.</p></Notice>;
    case JobState.CANCELLED:
      return <Notice kind="info" title="The job was cancelled"><p><bdi>{visible(job.reason)}</bdi></p>
        <p>{job.startedUnixSeconds === 0n ? `It had not begun: ${costText(job.cost)} was refunded.` : `It had begun: ${costText(job.cost)} stays spent.`}</p></Notice>;
    default:
      return null;
  }
}

// Public rows that came with the job are no longer there to plan with: the job then has no plan to show.
function Planned({job}: {job: Job}) {
  const {spec} = job;
  const planned = useLoad(async signal => spec === undefined ? undefined : (await training.previewJob({spec}, {signal})).releases, [job.name]);
  // A deleted dataset has no plan any more.
  if (planned.data === undefined) return null;
  return <Section title="What it releases"><ReleaseTable caption="As it was planned, and charged; the ledger and the model's certificate have what was made" releases={planned.data}/></Section>;
}

function Shown({job}: {job: Job}) {
  const {spec} = job, dataset = idOf(spec?.dataset ?? '');
  const settings = Object.entries(spec?.settings ?? {});
  const about = useLoad(async signal => (await datasets.getDataset({name: spec?.dataset ?? '', maxEntries: 1}, {signal})).dataset, [spec?.dataset]);
  return <>
    <div aria-live="polite"><Outcome job={job}/></div>
    {job.warnings.map(warning => <Notice key={warning} kind="warning" title="Known before it was submitted"><p><bdi>{visible(warning)}</bdi></p></Notice>)}
    <Facts facts={[
      ['State', <><JobStateText job={job}/><br/><small>{meaningOf(JobStateSchema, job.state)}</small></>],
      ['Dataset', <a href={datasetHref(dataset)}><Name text={dataset}/></a>],
      ['Algorithm', <Name text={spec?.algorithm ?? ''}/>],
      ['Asked for', `ε ${epsilon(spec?.epsilonNanos ?? 0n)}, δ ${delta(spec?.deltaAtto ?? 0n)}`],
      ['Charged', costText(job.cost)],
      job.publicRows > 0n && ['Started from', <>{countOf(job.publicRows, 'public row')}, which nothing protects: SHA-256 <code>{job.publicRowsSha256}</code></>],
      ['Neighbouring tables differ in', about.data === undefined ? '–' : neighboursOf(about.data)],
      ['Submitted by', job.submitter === '' ? 'not known: no policy' : <Name text={job.submitter}/>],
      ['Queued', <When at={job.createdUnixSeconds} exact/>],
      ['Begun', <When at={job.startedUnixSeconds} exact/>],
      ['Ended', <When at={job.endedUnixSeconds} exact/>],
    ]}/>
    {settings.length > 0 && <Section title="Parameters that were set"><Sentences texts={settings.map(([name, value]) => `${name} = ${value}`)}/></Section>}
    {about.data !== undefined && (job.publicRows === 0n || job.publicRowsSha256 === about.data.publicRowsSha256) && <Planned job={job}/>}
  </>;
}

export function JobPage({id}: {id: string}) {
  const watched = useWatch(signal => training.watchJob({name: `jobs/${id}`}, {signal}), [id]);
  const job = watched.data?.job;
  const dataset = idOf(job?.spec?.dataset ?? '');
  return <Page title={id} kind={job === undefined ? 'Job' : `Job on dataset ${visible(dataset)}`} kindHref={job === undefined ? href('datasets', 'jobs') : datasetHref(dataset)}
    actions={job !== undefined && !hasEnded(job.state) && <CancelJob job={job}/>}>
    <Failure error={watched.error}/>
    {job === undefined ? watched.error === null && <Loading/> : <Shown job={job}/>}
  </Page>;
}
