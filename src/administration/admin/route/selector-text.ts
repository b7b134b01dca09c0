/** Entries in a query: `key=value,key`. */

import { AdminProblem } from '../problem';

export interface SelectedEntry {
  readonly key: string;
  /** Absent: any value. */
  readonly value?: string;
}

/** `key=value,key`, with percent signs for special characters. */
export function readSelector(text: string, field = 'query/entry'): readonly SelectedEntry[] {
  return text.split(',').map((part) => {
    const [key = '', ...values] = part.split('=');
    if (key === '') throw AdminProblem.ofField(field, 'an entry has no key; write key=value, or key for any value');
    try {
      return { key: decodeURIComponent(key), ...(values.length > 0 && { value: decodeURIComponent(values.join('=')) }) };
    } catch {
      throw AdminProblem.ofField(field, 'a % is not followed by two hexadecimal digits; write %25 for a percent sign');
    }
  });
}

/** `key=value,key=value`: each entry has its value. */
export function readDescriptor(text: string): readonly Required<SelectedEntry>[] {
  return readSelector(text, 'query/descriptor').map(({ key, value }) => {
    if (value === undefined) throw AdminProblem.ofField('query/descriptor', `the entry ${key} has no value; write ${key}=VALUE`);
    return { key, value };
  });
}
