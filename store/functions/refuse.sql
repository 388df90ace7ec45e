-- A call whose input was found wrong before it came here. The caller is still proved first, so that
-- a stranger learns nothing and the order of refusals holds; then the fault is logged.
-- Locks the workspace row. Returns the codes of admit, else p_code.
create or replace function refuse(p_workspace uuid, p_key bytea, p_want text, p_guard integer, p_operation text, p_price bigint,
    p_path text, p_code text, p_detail text,
    out code text, out info jsonb, out cost bigint, out remaining bigint)
language plpgsql as $$
declare
    a admission := admit(p_workspace, p_key, p_want, p_guard);
begin
    if a.code is null then
        a.code := p_code;
    else
        p_detail := null; -- it is about a fault that this caller does not come to
    end if;
    a := settle(a, p_operation, p_path, 0, p_detail);
    code := a.code; info := a.info; cost := a.cost; remaining := a.remaining;
end $$;
