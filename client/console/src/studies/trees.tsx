// The trees of a study, with what the reports say of their nodes.

import {useMemo, useState} from 'preact/hooks';
import type {GetCountsResponse, NodeCounts} from 'proto/study_pb';
import {studies} from '../api/clients';
import {useLoad} from '../api/load';
import {count, percent, significant} from '../parts/format';
import {Remark, Section} from '../parts/layout';
import {Failure} from '../parts/notice';
import {Name} from '../parts/text';
import {ForestView} from '../parts/tree';
import {treeFeatures} from '../trees/questions';
import type {StudyProps} from './study';
import {totalsOf} from './words';

export function StudyTrees({id, study}: StudyProps) {
  const [tree, setTree] = useState(0);
  const schema = study.terms.schema!;
  const features = useMemo(() => treeFeatures(schema), [schema]);
  const hasReports = totalsOf(study.counts).accepted > 0n;
  const counts = useLoad(async signal => hasReports ? studies.getCounts({name: `studies/${id}`, tree}, {signal}) : null, [id, tree, hasReports]);
  const byNode = useMemo(() => new Map(counts.data?.nodes.map(node => [node.node, node])), [counts.data]);
  if (study.forest === undefined || study.forest.trees.length === 0) {
    return <p>The trees of this study are gone: its time of retention is over.</p>;
  }
  return <Section title="Trees" aside="A device answers in one of them, which its ticket draws.">
    <Failure error={counts.error} retry={counts.reload}/>
    <ForestView forest={study.forest} features={features} onTree={setTree}
      note={(number, _, node) => number === tree ? <Estimate counts={byNode.get(node)} classes={schema.classes}/> : null}/>
    <Remark>{hasReports && counts.data ? <About counts={counts.data}/>
      : 'The trees were grown from public rows alone. Once reports have come, each node says about how many rows it holds.'}</Remark>
  </Section>;
}

function About({counts}: {counts: GetCountsResponse}) {
  return <>Estimates from {count(counts.treeReports)} of {count(counts.reports)} reports, which answered in this tree; ± is one standard error. To estimate costs no privacy.</>;
}

/** "≈ 310 ± 40 rows, yes 31 %". */
function Estimate({counts, classes}: {counts: NodeCounts | undefined; classes: readonly string[]}) {
  if (counts === undefined) return null;
  const {rows, margin} = counts;
  if (rows === undefined && margin !== undefined) {
    return <span class="sure">margin ≈ {significant(margin.estimate, 3)} ± {significant(margin.standardError, 2)}</span>;
  }
  if (rows === undefined) return null;
  const most = counts.classes.reduce((best, each, k) => each.estimate > (counts.classes[best]?.estimate ?? -Infinity) ? k : best, 0);
  const total = counts.classes.reduce((sum, each) => sum + Math.max(each.estimate, 0), 0);
  const share = total > 0 ? Math.max(counts.classes[most]?.estimate ?? 0, 0) / total : null;
  return <span class="sure">≈ {count(Math.max(rows.estimate, 0))} ± {count(rows.standardError)} rows{share !== null && classes[most] !== undefined &&
    <>, <Name text={classes[most]} most={20}/> {percent(share, 0)}</>}</span>;
}
