/** Numbers for names that many records share. A number is given again when no record uses it any more. */

import { copyOf } from '../../../domain/descriptor/byte-string';

interface Numbered {
  readonly number: number;
  uses: number;
}

export class Names {
  private readonly byName = new Map<string, Numbered>();
  private readonly byNumber: (string | undefined)[] = [];
  private readonly free: number[] = [];

  nameOf(number: number): string {
    return this.byNumber[number] ?? '';
  }

  /** The number of the name, with one use more. */
  acquire(name: string): number {
    const known = this.byName.get(name);
    if (known !== undefined) {
      known.uses += 1;
      return known.number;
    }
    const number = this.free.pop() ?? this.byNumber.length;
    // A copy: the name may be a part of a long text, which it would keep whole.
    const own = copyOf(name);
    this.byNumber[number] = own;
    this.byName.set(own, { number, uses: 1 });
    return number;
  }

  release(number: number): void {
    const name = this.nameOf(number);
    const known = this.byName.get(name);
    if (known === undefined) return;
    known.uses -= 1;
    if (known.uses > 0) return;
    this.byName.delete(name);
    this.byNumber[number] = undefined;
    this.free.push(number);
  }
}
