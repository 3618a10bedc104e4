// #/datasets/jobs: the jobs of all datasets.

import {Page} from '../parts/layout';
import {href} from '../route';
import {JobTable} from './job_table';

export function JobsPage() {
  return <Page title="Jobs" kind="Datasets" kindHref={href('datasets')} lead="Every job on a dataset of yours, newest first; the operator sees all.">
    <JobTable dataset=""/>
  </Page>;
}
