// The pages under #/operations: health, backups, the audit log, tokens.

import type {FamilyProps} from '../app';
import {Audit} from './audit';
import {Backups} from './backups';
import {Health} from './health';
import {Tokens} from './tokens';

export default function OperationsPages({path: [page]}: FamilyProps) {
  if (page === 'backups') return <Backups/>;
  if (page === 'audit') return <Audit/>;
  if (page === 'tokens') return <Tokens/>;
  return <Health/>;
}
