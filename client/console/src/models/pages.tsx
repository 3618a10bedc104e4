// The pages under #/models.

import type {FamilyProps} from '../app';
import {Page} from '../parts/layout';

export default function ModelsPages(_: FamilyProps) {
  return <Page title="Models"/>;
}
