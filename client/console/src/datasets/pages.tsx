// The pages under #/datasets.

import type {FamilyProps} from '../app';
import {Page} from '../parts/layout';

export default function DatasetsPages(_: FamilyProps) {
  return <Page title="Datasets"/>;
}
