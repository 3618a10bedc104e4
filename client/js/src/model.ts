import {Core} from './core.js';
import {CoppiceError} from './errors.js';
import {readColumns, setRow, type Column, type Row} from './terms.js';

export interface Prediction {
  /** The most probable class; null where a number is predicted. */
  label: string | null;
  probability: number;
  /** Where a number is predicted. */
  number: number;
  /** 95 % interval of the probability or the number. */
  low: number;
  high: number;
}

/**
 * A model, as `coppice model export --format message` writes it. Where it comes from is the caller's to see to: its
 * signature is not checked here.
 */
export class Model {
  private constructor(private readonly core: Core, private readonly model: number, readonly columns: readonly Column[]) {}

  static async open(bytes: Uint8Array): Promise<Model> {
    const unused = (): never => {
      throw new CoppiceError('internal', 'a model calls nothing');
    };
    const core = await Core.make({clock: unused, write: unused, review: unused, readRow: unused, answer: unused});
    const model = core.lend(lend => core.make('model_open', lend.bytes(bytes), bytes.length));
    return new Model(core, model, readColumns(core, core.call('model_schema', model)));
  }

  predict(values: Row): Prediction {
    const row = this.core.make('model_row', this.model);
    try {
      setRow(this.core, row, values);
      return this.core.lend(({room}) => {
        const at = room(5 * 8);
        this.core.check('model_predict', this.model, row, at);
        const [number, probability, predicted, low, high] = this.core.doubles(at, 5) as [number, number, number, number, number];
        return {label: this.columns.at(-1)?.values[number] ?? null, probability, number: predicted, low, high};
      });
    } finally {
      this.core.call('row_free', row);
    }
  }
}
