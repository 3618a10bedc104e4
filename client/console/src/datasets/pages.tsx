// The pages under #/datasets: the list, one dataset with its ledger, new ones, jobs, and curves.

import type {FamilyProps} from '../app';
import {CurvePage} from './curve';
import {DatasetPage} from './dataset';
import {EvaluatePage} from './evaluate';
import {JobPage} from './job';
import {JobsPage} from './jobs';
import {DatasetList} from './list';
import {NewDataset} from './new_dataset';
import {NewJob} from './new_job';
import {UploadPage} from './upload_page';

function OneDataset({path: [id = '', page]}: FamilyProps) {
  if (page === 'train') return <NewJob key={id} id={id}/>;
  if (page === 'evaluate') return <EvaluatePage key={id} id={id}/>;
  if (page === 'upload') return <UploadPage key={id} id={id}/>;
  return <DatasetPage key={id} id={id}/>;
}

export default function DatasetsPages({path}: FamilyProps) {
  const [first, second] = path;
  if (first === undefined) return <DatasetList/>;
  if (first === 'new') return <NewDataset/>;
  if (first === 'jobs') return <JobsPage/>;
  if (first === 'curve') return <CurvePage/>;
  if (first === 'job' && second !== undefined) return <JobPage key={second} id={second}/>;
  return <OneDataset path={first === 'id' ? path.slice(1) : path}/>;
}
