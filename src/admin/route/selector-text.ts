/** Entries in a query: `key=value,key`. */

import { AdminProblem } from '../problem';

export interface SelectedEntry {
  readonly key: string;
  /** Absent: any value. */
  readonly value?: string;
}

/** `key=value,key`, with percent signs for special characters. */
export function readSelector(text: string): readonly SelectedEntry[] {
  return text.split(',').map((part) => {
    const [key = '', ...values] = part.split('=');
    if (key === '') throw AdminProblem.ofField('query/entry', 'an entry has no key; write key=value, or key for any value');
    try {
      return { key: decodeURIComponent(key), ...(values.length > 0 && { value: decodeURIComponent(values.join('=')) }) };
    } catch {
      throw AdminProblem.ofField('query/entry', 'a % is not followed by two hexadecimal digits; write %25 for a percent sign');
    }
  });
}
