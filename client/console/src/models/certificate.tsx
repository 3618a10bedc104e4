// A model's certificate: the page that the command line writes, or its sentences.

import {isUnimplemented} from '../api/errors';
import {DocumentFrame} from '../parts/document_frame';
import {count, delta, epsilon} from '../parts/format';
import {Command, Facts, Remark, Section, Sentences} from '../parts/layout';
import {Failure, Loading} from '../parts/notice';
import {Table} from '../parts/table';
import {Name, visible} from '../parts/text';
import type {ModelProps} from './model';
import {costNote, costText, neighbouringText, readersText, relayText} from './words';

export function ModelCertificate(props: ModelProps) {
  const {id, described} = props;
  if (described.data !== undefined) {
    const {certificatePage, certificate} = described.data;
    if (certificatePage !== '') return <DocumentFrame html={certificatePage} title={`Certificate of ${visible(id)}`} fileName={`${id}-certificate.html`}/>;
    if (certificate.length > 0) return <>{certificate.map(({title, sentences}) => <Section key={title} title={visible(title)}><Sentences texts={sentences}/></Section>)}</>;
  }
  if (described.data === undefined && described.error === null) return <Loading/>;
  return <>
    {!isUnimplemented(described.error) && <Failure error={described.error} retry={described.reload}/>}
    <Remark>This daemon does not write the certificate in words. What it says is below; the command checks it and says what it means:</Remark>
    <Command text={`coppice model verify --model ${id}`}/>
    <PlainCertificate {...props}/>
  </>;
}

function PlainCertificate({model}: ModelProps) {
  const {certificate} = model;
  if (certificate === undefined) return <p>The model has no certificate: nothing says what it cost. Do not use it on private rows.</p>;
  const {readers, relay} = certificate;
  return <>
    <Section title="What it cost">
      <Facts facts={[
        ['In all', `${costText(certificate)}, ${costNote(model)}`],
        ['Neighbouring', <Name text={neighbouringText(certificate)} most={200}/>],
        relay !== undefined && ['Towards a curator that does not collude with the relay', relayText(relay)],
        readers !== undefined && ['Towards whoever sees only models from after the sealing', readersText(readers)],
      ]}/>
    </Section>
    <Section title="Releases">
      <Table caption="Everything that was computed from private rows and let out" rows={certificate.releases} rowKey={(_, i) => i} columns={[
        {head: 'what', cell: release => <Name text={release.what} most={400}/>},
        {head: 'mechanism', cell: release => <Name text={release.mechanism} most={80}/>},
        {head: 'epsilon', number: true, cell: release => epsilon(release.epsilonNanos)},
        {head: 'delta', number: true, cell: release => delta(release.deltaAtto)},
        {head: 'times', number: true, cell: release => count(release.times)},
        {head: 'part', cell: release => release.part === '' ? 'all records' : <Name text={release.part} most={60}/>},
      ]} empty={<p>No release is listed.</p>}/>
    </Section>
    {certificate.publicInputs.length > 0 && <Section title="Used without protection"><Sentences texts={certificate.publicInputs}/></Section>}
  </>;
}
