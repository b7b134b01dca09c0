/** Records that name a subject and have no effect on it, a line each. */

import { printable } from '../../admin/printable';

interface IdleRecord {
  readonly kind: string;
  readonly id: string;
  readonly effect: 'in_force' | 'partial' | 'none';
  readonly warnings: readonly { readonly message: string }[];
}

/** `No effect: override stray: no descriptor of the configuration has the key "merchent", …` */
export function idleLines(records: readonly IdleRecord[]): readonly string[] {
  return records.map(({ kind, id, effect, warnings }) => {
    const why = warnings.map(({ message }) => message).join('; ');
    return printable(`${effect === 'none' ? 'No effect' : 'Effect in part'}: ${kind} ${id}: ${why}`);
  });
}
