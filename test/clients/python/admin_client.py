"""Drives the admin API with the client that is generated from its OpenAPI document, and prints what the client made of each reply."""

import json
import sys

from weir_admin import AuthenticatedClient
from weir_admin.api.blocks import delete_block, put_block
from weir_admin.api.buckets import give_credit, lookup_buckets
from weir_admin.api.overrides import put_override
from weir_admin.api.plans import put_plan
from weir_admin.api.system import explain_request, whoami
from weir_admin.api.tenants import get_tenant, list_tenants, put_tenant
from weir_admin.models import (
    ExplainRequestBody,
    GiveCreditBody,
    LookupBucketsBody,
    Problem,
    PutBlockBody,
    PutOverrideBody,
    PutPlanBody,
    PutTenantBody,
)


def outcome(response):
    """The class of the parsed reply, its status, and for a problem what it says."""
    parsed = response.parsed
    said = {"type": parsed.type_.value, "errors": [each.field for each in parsed.errors or []]} if isinstance(parsed, Problem) else {}
    return {"class": type(parsed).__name__, "status": int(response.status_code), **said}


def main():
    work = json.load(sys.stdin)
    admin, support, viewer = (
        AuthenticatedClient(base_url=work["url"], token=work["tokens"][role], raise_on_unexpected_status=True)
        for role in ("admin", "support", "viewer")
    )
    domain, merchant = "payments", "müller & söhne/42"
    gold = PutTenantBody.from_dict({"plan": "enterprise", "reason": "signed", "until": "2100-01-01T00:00:00Z"})
    free = PutTenantBody.from_dict({"plan": "free"})
    entries = [{"key": "merchant", "value": merchant}]
    asked = {"domain": domain, "descriptors": [{"entries": entries}]}

    me = whoami.sync(client=support)
    created = put_tenant.sync_detailed(domain, merchant, client=support, body=gold)
    read = get_tenant.sync_detailed(domain, merchant, client=viewer)
    etag = read.headers["etag"]
    replaced = put_tenant.sync_detailed(domain, merchant, client=support, body=free, if_match=etag)
    block = PutBlockBody.from_dict({"entries": entries})
    outcomes = {
        "create": outcome(created),
        "replace": outcome(replaced),
        "late": outcome(put_tenant.sync_detailed(domain, merchant, client=support, body=gold, if_match=etag)),
        "create only": outcome(put_tenant.sync_detailed(domain, merchant, client=support, body=gold, if_none_match="*")),
        "viewer": outcome(put_tenant.sync_detailed(domain, merchant, client=viewer, body=gold)),
        "plan by support": outcome(
            put_plan.sync_detailed(
                domain, "free", client=support, body=PutPlanBody.from_dict({"limits": [{"requests_per_unit": 9, "unit": "minute"}]})
            )
        ),
        "stranger": outcome(whoami.sync_detailed(client=AuthenticatedClient(base_url=work["url"], token="x" * 40))),
        "nobody": outcome(get_tenant.sync_detailed(domain, "nobody", client=viewer)),
        "other domain": outcome(put_block.sync_detailed("elsewhere", "b", client=support, body=block)),
        "invalid": outcome(put_override.sync_detailed(domain, "o", client=support, body=PutOverrideBody.from_dict({"entries": [], "limit": {"requests_per_unit": 1, "unit": "minute"}}))),
        "dry run": outcome(put_block.sync_detailed(domain, "b", client=support, body=block, dry_run=True)),
        "block": outcome(put_block.sync_detailed(domain, "b", client=support, body=block)),
    }
    explained = explain_request.sync(client=viewer, body=ExplainRequestBody.from_dict(asked))
    outcomes["lifted"] = outcome(delete_block.sync_detailed(domain, "b", client=admin))
    looked = lookup_buckets.sync(client=viewer, body=LookupBucketsBody.from_dict(asked))
    credit = GiveCreditBody.from_dict({"domain": domain, "entries": entries, "hits": 5, "id": "ticket-7"})
    given = [give_credit.sync(client=support, body=credit).repeated for _ in range(2)]
    listed = list_tenants.sync(client=viewer, domain=domain)
    json.dump(
        {
            "role": str(me.role),
            "read": {"tenant": read.parsed.tenant, "plan": read.parsed.plan, "until": read.parsed.until.isoformat(), "author": read.parsed.author},
            "versions grow": replaced.parsed.version > created.parsed.version,
            "before": replaced.parsed.before.plan,
            "outcomes": outcomes,
            "explained": {"over_limit": explained.over_limit, "by a block": "block" in [str(each.kind) for each in explained.control]},
            "remaining": [bucket.remaining for bucket in looked.buckets],
            "repeated": given,
            "listed": [item.tenant for item in listed.items],
        },
        sys.stdout,
    )


main()
