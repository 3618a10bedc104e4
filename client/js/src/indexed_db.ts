import {CoppiceError} from './errors.js';
import {joinWrites, notRead, writtenByAnother, type JournalKeeper, type JournalWrite} from './journal.js';

const STORE = 'writes';

/**
 * A journal in the browser's IndexedDB, of this origin and this profile.
 *
 * A write is one transaction that waits for nothing but the database. It looks for the last write, and adds the next one
 * if that is the one that this page knows. Transactions that write are run one after another, in all tabs, so two pages
 * never both add to the same state: the later one is refused before anything that it made can leave. `durability: "strict"`
 * lets the browser report success only when the bytes are on the disk.
 *
 * A page that the browser puts away to come back to it (the back/forward cache) closes its journal, because another page
 * may write meanwhile; open the device anew on `pageshow`.
 */
export class IndexedDbJournal implements JournalKeeper {
  #database: IDBDatabase | undefined;
  #last: number | undefined; // unset before read()
  readonly #putAway = (event: PageTransitionEvent) => {
    if (event.persisted) this.close();
  };

  private constructor(
    database: IDBDatabase,
    /** The journal's name within the origin. */
    readonly name: string,
    /**
     * Whether the browser promised to keep the data until the person clears them. Where it did not, it may remove them for
     * want of space or of visits, and the device then forgets that it has answered: tell the person.
     */
    readonly persisted: boolean,
  ) {
    this.#database = database;
    database.onversionchange = () => this.close();
    database.onclose = () => this.close();
    globalThis.addEventListener?.('pagehide', this.#putAway as EventListener);
  }

  /** Opens the database, and asks the browser to keep it. */
  static async open(name = 'device'): Promise<IndexedDbJournal> {
    if (globalThis.indexedDB === undefined) throw refused();
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const request = indexedDB.open('coppice-device', 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(refused(request.error));
      request.onblocked = () => reject(refused());
    });
    const persisted = await navigator.storage?.persist?.().catch(() => false) ?? false;
    return new IndexedDbJournal(database, name, persisted);
  }

  async read(): Promise<Uint8Array> {
    const database = this.#open();
    const writes = await new Promise<(JournalWrite & {place: number})[]>((resolve, reject) => {
      const transaction = database.transaction(STORE, 'readonly');
      const store = transaction.objectStore(STORE);
      const keys = store.getAllKeys(this.#places());
      const values = store.getAll(this.#places());
      transaction.oncomplete = () =>
        resolve(values.result.map((value: JournalWrite, i) => ({...value, place: (keys.result[i] as [string, number])[1]})));
      transaction.onabort = () => reject(failed(transaction.error));
    });
    const {bytes, last} = joinWrites(writes);
    this.#last = last;
    return bytes;
  }

  async write({replaces, bytes}: JournalWrite): Promise<void> {
    const database = this.#open();
    const last = this.#last;
    if (last === undefined) throw notRead();
    await new Promise<void>((resolve, reject) => {
      let isLast = true;
      const transaction = database.transaction(STORE, 'readwrite', {durability: 'strict'});
      const store = transaction.objectStore(STORE);
      const found = store.openKeyCursor(this.#places(), 'prev');
      found.onsuccess = () => {
        isLast = ((found.result?.key as [string, number] | undefined)?.[1] ?? -1) === last;
        if (!isLast) {
          transaction.abort();
          return;
        }
        store.add({replaces, bytes}, [this.name, last + 1]);
        if (replaces && last >= 0) store.delete(IDBKeyRange.bound([this.name, 0], [this.name, last]));
      };
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(isLast ? failed(transaction.error) : writtenByAnother());
    });
    this.#last = last + 1;
  }

  close(): void {
    globalThis.removeEventListener?.('pagehide', this.#putAway as EventListener);
    this.#database?.close();
    this.#database = undefined;
  }

  #open(): IDBDatabase {
    if (this.#database === undefined) throw notRead();
    return this.#database;
  }
  #places(): IDBKeyRange {
    return IDBKeyRange.bound([this.name, 0], [this.name, Infinity]);
  }
}

function refused(cause?: unknown): CoppiceError {
  return new CoppiceError('unavailable',
    'the browser gives this page no storage, perhaps because the window is private or storage is switched off; without it nothing is answered',
    {cause});
}

function failed(cause: DOMException | null): CoppiceError {
  if (cause?.name === 'QuotaExceededError') {
    return new CoppiceError('resource_exhausted', 'there is no room for the journal; make room and open the device again', {cause});
  }
  if (cause?.name === 'ConstraintError') return writtenByAnother();
  return new CoppiceError('unavailable', 'the journal could not be written; open the device again', {cause});
}
