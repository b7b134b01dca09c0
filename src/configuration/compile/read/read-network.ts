/** Reads the address range of a descriptor with `match: cidr`. */

import { networkText, parseNetwork, type Network } from '../../../lib/address';
import { joinPath, show } from '../../../lib/quote';
import type { FileProblems } from '../../problems/problem-list';
import type { DescriptorFields } from '../fields/descriptor';
import type { ValuesOf } from '../field-types/field';

/** Undefined: the descriptor has none, or it is invalid, which is reported. */
export function readNetwork(
  fields: ValuesOf<DescriptorFields>,
  { path, problems }: { readonly path: string; readonly problems: FileProblems },
): Network | undefined {
  if (fields.match === undefined) return undefined;
  const read = networkOf(fields, fields.match.offset);
  if (!('message' in read)) return read;
  problems.report({ offset: read.offset, path: joinPath(path, read.field), message: read.message });
  return undefined;
}

interface Fault {
  readonly field: string;
  readonly offset: number;
  readonly message: string;
}

/** `offset`: that of `match`. */
function networkOf({ key, value }: ValuesOf<DescriptorFields>, offset: number): Network | Fault {
  if (key?.value.includes('*') === true)
    return { field: 'match', offset, message: 'needs a key without a *; name the key, or remove match' };
  if (value === undefined || value.value === '')
    return { field: 'match', offset, message: 'needs a value with an address range, such as 10.0.0.0/8 or 2001:db8::/32' };
  const atValue = { field: 'value', offset: value.offset };
  const network = parseNetwork(value.value);
  if (network === undefined)
    return { ...atValue, message: `${show(value.value)} is not an address range; write it as 10.0.0.0/8 or 2001:db8::/32` };
  // An address with more bits than the prefix may be a mistyped one.
  const [address = ''] = value.value.split('/');
  const isWhole = parseNetwork(address)?.words.every((word, index) => word === network.words[index]);
  if (isWhole === false)
    return { ...atValue, message: `${show(value.value)} has bits beyond its prefix; write ${networkText(network)} for the range` };
  return network;
}
