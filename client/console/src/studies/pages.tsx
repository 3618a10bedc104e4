// The pages under #/studies: the list, #/studies/new, one study.

import type {FamilyProps} from '../app';
import {StudyList} from './list';

export default function StudiesPages({path: _}: FamilyProps) {
  return <StudyList/>;
}
