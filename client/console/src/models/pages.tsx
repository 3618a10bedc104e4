// The pages under #/models. No id begins with "-", so #/models/- has the pages that are not about one model.

import type {FamilyProps} from '../app';
import {Empty, Page} from '../parts/layout';
import {href} from '../route';
import {ComparePage} from './compare';
import {EndpointPage} from './endpoint';
import {EndpointList} from './endpoint_list';
import {ModelList} from './list';
import {ModelPage} from './model';

export default function ModelsPages({path}: FamilyProps) {
  const [first, second, third, fourth] = path;
  if (first === undefined) return <ModelList/>;
  if (first !== '-') return <ModelPage key={first} id={first} part={second ?? ''}/>;
  if (second === 'endpoints') return third === undefined ? <EndpointList/> : <EndpointPage key={third} id={third}/>;
  if (second === 'compare' && third !== undefined && fourth !== undefined) return <ComparePage key={`${third}/${fourth}`} left={third} right={fourth}/>;
  return <Page title="There is no such page"><Empty title="The address may be of another version of the console"
    action={<a class="button" href={href('models')}>All models</a>}/></Page>;
}
