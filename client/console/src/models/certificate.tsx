// A model's certificate: the page that the command line writes.

import {DocumentFrame} from '../parts/document_frame';
import {Failure, Loading} from '../parts/notice';
import {visible} from '../parts/text';
import type {ModelProps} from './model';

export function ModelCertificate({id, described}: ModelProps) {
  if (described.data !== undefined) {
    return <DocumentFrame html={described.data.certificatePage} title={`Certificate of ${visible(id)}`} fileName={`${id}-certificate.html`}/>;
  }
  return described.error === null ? <Loading/> : <Failure error={described.error} retry={described.reload}/>;
}
