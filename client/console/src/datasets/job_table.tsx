// Jobs, newest first.

import {JobState, JobStateSchema, type Job} from 'proto/training_pb';
import {useState} from 'preact/hooks';
import {training} from '../api/clients';
import {idOf} from '../api/ids';
import {useLoad} from '../api/load';
import {wordOf} from '../parts/enums';
import {percent} from '../parts/format';
import {Remark, State, When} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {Pager, Table} from '../parts/table';
import {Name} from '../parts/text';
import {href} from '../route';
import {costText} from './budget';
import {datasetHref, jobHref} from './where';
import {jobTone} from './words';

const REFRESH_MS = 5000, JOBS_A_CALL = 1000, MOST_CALLS = 10, SIZE = 10;

/** All jobs of a dataset, or of all (''), that the caller may see, newest first; `isCut` if not all are read. */
async function readJobs(dataset: string, signal: AbortSignal): Promise<{jobs: Job[]; isCut: boolean}> {
  const jobs: Job[] = [];
  let pageToken = '';
  for (let calls = 0; calls < MOST_CALLS; ++calls) {
    const page = await training.listJobs({dataset, pageSize: JOBS_A_CALL, pageToken}, {signal});
    jobs.push(...page.jobs);
    pageToken = page.nextPageToken;
    if (pageToken === '') break;
  }
  jobs.sort((a, b) => Number(b.createdUnixSeconds - a.createdUnixSeconds) || (a.name < b.name ? -1 : 1));
  return {jobs, isCut: pageToken !== ''};
}

export function JobStateText({job}: {job: Job}) {
  return <State tone={jobTone(job.state)}>{wordOf(JobStateSchema, job.state)}{job.state === JobState.RUNNING ? `, ${percent(job.progress, 0)}` : ''}</State>;
}

export function JobTable({dataset}: {dataset: string}) {
  const [first, setFirst] = useState(0);
  const [isLong, setLong] = useState(false);
  const loaded = useLoad(async signal => {
    const read = await readJobs(dataset, signal);
    setLong(read.jobs.length > JOBS_A_CALL);
    return read;
  }, [dataset], {everyMs: isLong ? 0 : REFRESH_MS});
  const jobs = loaded.data?.jobs;
  if (jobs === undefined) return <><Failure error={loaded.error} retry={loaded.reload}/>{loaded.loading && <Loading/>}</>;
  const columns = [
    {head: 'job', cell: (job: Job) => <a href={jobHref(idOf(job.name))}><Name text={idOf(job.name)} most={32}/></a>},
    ...(dataset === '' ? [{head: 'dataset', cell: (job: Job) => <a href={datasetHref(idOf(job.spec?.dataset ?? ''))}><Name text={idOf(job.spec?.dataset ?? '')} most={24}/></a>}] : []),
    {head: 'state', cell: (job: Job) => <JobStateText job={job}/>},
    {head: 'algorithm', cell: (job: Job) => <Name text={job.spec?.algorithm ?? ''} most={24}/>},
    {head: 'charged', cell: (job: Job) => costText(job.cost)},
    {head: 'by', cell: (job: Job) => job.submitter === '' ? '–' : <Name text={job.submitter} most={24}/>},
    {head: 'queued', cell: (job: Job) => <When at={job.createdUnixSeconds}/>},
    {head: 'model', cell: (job: Job) => job.state === JobState.DONE ? <a href={href('models', idOf(job.model))}><Name text={idOf(job.model)} most={32}/></a> : '–'},
  ];
  return <>
    <Failure error={loaded.error} retry={loaded.reload}/>
    <Table caption="Jobs, newest first" quiet rows={jobs.slice(first, first + SIZE)} rowKey={job => job.name} columns={columns}
      empty={<p class="remark">No job was submitted yet.</p>}/>
    <Pager first={first} size={SIZE} total={jobs.length} onFirst={setFirst} what="jobs"/>
    {loaded.data!.isCut && <Remark>These are {jobs.length.toLocaleString('en-US')} jobs; there are more, which coppice train list shows.</Remark>}
  </>;
}
