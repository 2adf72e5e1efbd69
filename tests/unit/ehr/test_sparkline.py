from ehr.presentation.sparkline import MAX_POINTS, sparkline


def test_two_points_span_the_box():
    # x from 2 to 118, y from 22 (lowest) to 2 (highest).
    found = sparkline([(0.0, 10.0), (10.0, 20.0)])
    assert found is not None
    assert found.path == "M2.0 22.0L118.0 2.0"
    assert (found.x, found.y, found.low, found.high) == ("118.0", "2.0", 10.0, 20.0)


def test_a_constant_series_is_a_level_line():
    found = sparkline([(0.0, 5.0), (1.0, 5.0)])
    assert found is not None
    assert found.path == "M2.0 12.0L118.0 12.0"


def test_fewer_than_two_points_have_no_shape():
    assert sparkline([]) is None
    assert sparkline([(0.0, 1.0)]) is None


def test_a_long_series_keeps_its_peak():
    points = [(float(i), 0.0) for i in range(5000)]
    points[2500] = (2500.0, 99.0)
    found = sparkline(points)
    assert found is not None
    assert found.high == 99.0
    assert found.path.count("L") < MAX_POINTS
