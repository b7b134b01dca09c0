/** Shows what a change would do, as the dry run of the admin API says it: from what to what. */

import type { OverrideWrite, TermChange, Terms } from '../../../admin-client/operations';
import { showCount, showLimit, showTime } from '../../api/show';
import type { Effect, Preview } from '../../parts/change-dialog';

/** Fields of a record that a preview shows. */
interface ShownRecord {
  readonly plan?: string;
  readonly until?: string;
  readonly reason?: string;
}

interface RecordReply extends Pick<OverrideWrite, 'changed' | 'changes' | 'changes_omitted' | 'warnings'> {
  readonly before?: ShownRecord;
  readonly after?: ShownRecord;
}

/** `plan`: holds now if nobody has written a record. */
export function previewOf(what: string, reply: RecordReply, plan?: string): Preview {
  const { changed, before, after, changes, changes_omitted: omitted, warnings } = reply;
  const effect = (name: string, show: (record: ShownRecord) => string, now = NOTHING): Effect => ({
    what: name,
    before: before === undefined ? now : show(before),
    after: after === undefined ? NOTHING : show(after),
  });
  const effects = [
    ...changes.map((change) => effectOfTerms(change, changes)),
    ...(omitted > 0 ? [{ what: `${showCount(omitted)} more`, before: NOTHING, after: NOTHING }] : []),
    effect(what, () => 'in force'),
    ...(before?.plan !== undefined || after?.plan !== undefined ? [effect('Plan', (record) => record.plan ?? NOTHING, plan)] : []),
    effect('Until', ({ until }) => (until === undefined ? 'no end' : showTime(until))),
    effect('Reason', ({ reason }) => reason ?? NOTHING),
  ];
  return { effects, changes: changed, warnings: warnings.map(({ message }) => message) };
}

const NOTHING = 'none';

function effectOfTerms({ rule, plan, from, to }: TermChange, all: readonly TermChange[]): Effect {
  const name = [from.name, to.name].find((each) => each !== undefined && each !== '') ?? 'Limit';
  const isOneRule = all.every((each) => each.rule === rule);
  const where = [isOneRule ? undefined : `of ${rule}`, plan && `in the plan ${plan}`].filter((part) => part !== undefined);
  const kind = from.kind === 'candidate' || to.kind === 'candidate' ? 'Candidate ' : '';
  return { what: [`${kind}${name}`, ...where].join(' '), before: termsText(from), after: termsText(to) };
}

/** A block is not a limit of nothing. */
function termsText({ kind, requests_per_unit: requests, unit, unit_multiplier: multiplier = 1 }: Terms): string {
  switch (kind) {
    case 'denied':
      return 'denied by a block';
    case 'unlimited':
      return 'unlimited';
    case 'none':
      return NOTHING;
    case 'limit':
    case 'candidate':
      return showLimit({ requests_per_unit: requests ?? 0, unit: unit ?? '', unit_multiplier: multiplier });
  }
}
