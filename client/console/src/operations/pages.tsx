// The pages under #/operations.

import type {FamilyProps} from '../app';
import {Page} from '../parts/layout';

export default function OperationsPages(_: FamilyProps) {
  return <Page title="Operations"/>;
}
