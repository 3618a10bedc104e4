/** A Coppice device in a web page or in Node. docs/web.md leads through it. */
export {ConnectCarrier, type Call, type Carrier, type ConnectOptions} from './connect.js';
export {Device, type Answer, type DeviceOptions, type DeviceState, type Outcome, type OwnColumn, type VisitOptions} from './device.js';
export {CoppiceError, type Code} from './errors.js';
export {IndexedDbJournal} from './indexed_db.js';
export {type JournalKeeper, type JournalWrite} from './journal.js';
export {Model, type Prediction} from './model.js';
export {type Column, type Row, type Terms} from './terms.js';
