/** Refuses records that name a domain or plan that the configuration does not have. */

import { toByteString, toText } from '../../../../domain/descriptor/byte-string';
import type { ByteString } from '../../../../domain/descriptor/descriptor';
import type { ControlRecord } from '../../../../state/control/control-record';
import type { AdminBackend } from '../../backend';
import { AdminProblem } from '../../problem';

/** Most names in a message. */
const NAMES_SHOWN_MAX = 20;

/** A typing error in a domain or plan would otherwise change nothing, without a hint. */
export function checkNames(record: ControlRecord, { rules }: AdminBackend): void {
  const ruleSet = rules.current()?.ruleSet;
  if (ruleSet === undefined) return;
  const inForce = ruleSet.domains.get(toByteString(record.domain));
  if (inForce === undefined) throw new AdminProblem('conflict', lacks('domain', record.domain, [...ruleSet.domains.keys()]));
  if ((record.kind !== 'tenant' && record.kind !== 'plan') || record.plan === undefined) return;
  if (inForce.plans?.has(toByteString(record.plan)) === true) return;
  throw new AdminProblem(
    'conflict',
    `${lacks('plan', record.plan, [...(inForce.plans?.keys() ?? [])])}, or send ahead=true before that configuration`,
  );
}

function lacks(what: string, name: string, names: readonly ByteString[]): string {
  const shown = names.slice(0, NAMES_SHOWN_MAX).map((each) => JSON.stringify(toText(each)));
  const more = names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : '';
  const known = shown.length === 0 ? 'it has none' : `use one of ${shown.join(', ')}${more}`;
  return `the configuration in force has no ${what} ${JSON.stringify(name)}; ${known}`;
}
