import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { DataTypes, type Attribute, type Entry, type Result } from './backend.js';
import type { Operators } from './operators.js';

const FLOAT = DataTypes.float32;

let registersMade = 0;

/**
 * Resource variables of TensorFlow through which tensors are written in place.
 *
 * TensorFlow's operators that write in place take resource variables, and tfjs's tensors are not
 * resource variables. So a register, which is a resource variable, takes the memory of a tensor
 * before such an operator, and gives it back afterwards. No element is copied. TensorFlow itself
 * copies memory before it writes if anything else holds it, such as a clone, a saved tensor, or an
 * array of the program.
 */
export class Registers {
  readonly #handles: number[] = [];
  readonly #elements: readonly Attribute[];

  constructor(private readonly operators: Operators) {
    this.#elements = [operators.type('dtype', FLOAT)];
  }

  /**
   * Runs `write` on registers that hold the memory of `xs`, which are float32. Afterwards each of
   * `xs` has what its register holds. A tensor that shares its data id with others keeps it for
   * them: a variable gets new data then, any other tensor is refused by {@link canWrite}.
   */
  update(xs: readonly (Tensor | Variable)[], write: (registers: readonly number[]) => void): void {
    const registers = xs.map((_, i) => this.#register(i));
    const loaded: (Tensor | Variable)[] = [];
    try {
      for (const x of xs) {
        this.#load(registers[loaded.length]!, x);
        loaded.push(x);
      }
      write(registers);
    } finally {
      loaded.forEach((x, i) => this.#store(registers[i]!, x));
    }
  }

  /** Whether `x` may be written: nobody else holds its data id, or it is a variable. */
  canWrite(x: Tensor | Variable): boolean {
    const entry = this.operators.entryOf(x);
    return entry.dtype === FLOAT && (isVariable(x) || isAlone(entry));
  }

  /** Lets go of the memory that the registers still share. Called at the end of a step. */
  release(): void {
    if (this.#handles.length === 0) return;
    this.operators.freeing((keep) => {
      const nothing = keep(this.operators.scalar(0));
      for (const register of this.#handles) this.assign(register, nothing);
    });
  }

  #register(index: number): number {
    this.#handles[index] ??= this.#make();
    return this.#handles[index];
  }

  #make(): number {
    const { operators } = this;
    const shape = { name: 'shape', type: operators.binding.TF_ATTR_SHAPE, value: [] };
    const name = operators.text('shared_name', `acc/register-${registersMade++}`);
    const attributes = [...this.#elements, shape, operators.text('container', ''), name];
    return operators.run('VarHandleOp', attributes, []).id;
  }

  #load(register: number, x: Tensor): void {
    const { operators } = this;
    const id = operators.idOf(x);
    this.assign(register, id);
    const entry = operators.entryOf(x);
    if (!isAlone(entry)) return;
    // The register alone holds the memory now, so the operator can write into it.
    operators.delete(id);
    entry.id = -1;
  }

  #store(register: number, x: Tensor | Variable): void {
    const { operators } = this;
    const value = this.read(register);
    const entry = operators.entryOf(x);
    if (isAlone(entry)) {
      entry.id = value.id;
      return;
    }
    const holder = operators.tensorOf({ ...value, shape: [...x.shape] }, 'float32');
    (x as Variable).assign(holder);
    holder.dispose();
  }

  /** A second number for the memory of a register. The caller deletes it. */
  read(register: number): Result {
    return this.operators.run('ReadVariableOp', this.#elements, [register]);
  }

  /** The register shares the memory of `id` from now on. */
  assign(register: number, id: number): void {
    this.operators.binding.executeOp('AssignVariableOp', this.#elements, [register, id], 0);
  }
}

/** Whether one tensor alone has the data, so that its entry may change. */
const isAlone = (entry: Entry): boolean => entry.refCount === 1 && !entry.release;

function isVariable(x: Tensor): x is Variable {
  return (x as Partial<Variable>).assign !== undefined;
}
