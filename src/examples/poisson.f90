! poisson.f90: Fortran, through the C functions. A Poisson matrix as CSR with indices from 1, and
! gsw_solve(), which finds the grid and chooses the method.
!
!   gfortran poisson.f90 $(pkg-config --cflags --libs gridsweep) && ./a.out
!
! The module has what this program needs of the headers; add other functions in the same way. An
! enum of C is an integer(c_int), and a pointer to a struct is an argument by reference.
module gridsweep
    use, intrinsic :: iso_c_binding
    implicit none

    integer, parameter :: GSW_STENCIL_MAX = 128

    type, bind(C) :: gsw_context_options
        integer(c_size_t) :: size = 0
        integer(c_int) :: backend = 1 ! 1: the CPU, 2: CUDA, whose arrays are on the device
        integer(c_int) :: threads = 0, device = 0
        type(c_ptr) :: stream = c_null_ptr
        type(c_funptr) :: log = c_null_funptr
        type(c_ptr) :: log_user = c_null_ptr, tuning = c_null_ptr
    end type
    type, bind(C) :: gsw_grid
        integer(c_int64_t) :: nx = 0, ny = 0, nz = 0
        integer(c_int32_t) :: periodic = 0
    end type
    type, bind(C) :: gsw_csr
        integer(c_int64_t) :: rows = 0, nonzeros = 0
        type(c_ptr) :: row_ptr = c_null_ptr, columns = c_null_ptr, values = c_null_ptr
        integer(c_int) :: index_type = 0 ! 0: 32 bits, 1: 64 bits
        integer(c_int) :: value_type = 0 ! 0: double precision, 1: real
        integer(c_int) :: base = 1
    end type
    type, bind(C) :: gsw_matrix
        type(gsw_grid) :: grid
        integer(c_int32_t) :: stencil(2 + 3 * GSW_STENCIL_MAX) = 0
        integer(c_int) :: format = 0
        type(gsw_csr) :: csr
        type(c_ptr) :: arrays = c_null_ptr
        integer(c_int) :: value_type = 0, repeat = 0
        type(c_ptr) :: partition = c_null_ptr, active = c_null_ptr
    end type

    interface
        integer(c_int) function gsw_context_create(options, context) bind(C)
            import
            type(gsw_context_options) :: options
            type(c_ptr) :: context
        end function
        subroutine gsw_context_destroy(context) bind(C)
            import
            type(c_ptr), value :: context
        end subroutine
        type(c_ptr) function gsw_context_message(context) bind(C)
            import
            type(c_ptr), value :: context
        end function
        integer(c_int) function gsw_matrix_fit(context, csr, grid, stencil, matrix, copy) bind(C)
            import
            type(c_ptr), value :: context, grid, stencil
            type(gsw_csr) :: csr, copy
            type(gsw_matrix) :: matrix
        end function
        subroutine gsw_csr_free(csr) bind(C)
            import
            type(gsw_csr) :: csr
        end subroutine
        integer(c_int) function gsw_solve(context, matrix, options, b, x, report) bind(C)
            import
            type(c_ptr), value :: context, options, report
            type(gsw_matrix) :: matrix
            real(c_double) :: b(*), x(*)
        end function
        integer(c_size_t) function strlen(text) bind(C)
            import
            type(c_ptr), value :: text
        end function
    end interface
end module

program poisson
    use gridsweep
    implicit none
    integer, parameter :: nx = 48, ny = 40, nz = 32, points = nx * ny * nz
    integer(c_int), target :: row_ptr(points + 1), columns(7 * points)
    real(c_double), target :: values(7 * points)
    real(c_double) :: b(points), x(points), residual
    type(gsw_context_options) :: place
    type(c_ptr) :: context = c_null_ptr
    type(gsw_csr) :: csr, copy
    type(gsw_matrix) :: matrix

    call assemble()
    csr = gsw_csr(rows=points, nonzeros=row_ptr(points + 1) - 1, row_ptr=c_loc(row_ptr), &
                  columns=c_loc(columns), values=c_loc(values))
    b = 1
    x = 0
    place%size = c_sizeof(place)
    call must(gsw_context_create(place, context))
    call must(gsw_matrix_fit(context, csr, c_null_ptr, c_null_ptr, matrix, copy))
    call must(gsw_solve(context, matrix, c_null_ptr, b, x, c_null_ptr)) ! to 1e-8
    call gsw_csr_free(copy)
    call gsw_context_destroy(context)
    residual = norm2(b - product_with(x)) / norm2(b)
    print '(a, 3(i0, a), es8.1)', 'a grid of ', matrix%grid%nx, ' x ', matrix%grid%ny, ' x ', &
        matrix%grid%nz, ': residual ', residual
    if (residual > 1.1d-8) stop 1

contains

    ! Diffusion on the unit spacing, x = 0 outside. Columns ascend in each row.
    subroutine assemble()
        integer, parameter :: step(7) = [-nx * ny, -nx, -1, 0, 1, nx, nx * ny]
        integer :: row, i, j, k, e, count
        logical :: inside(7)
        count = 0
        do row = 1, points
            i = mod(row - 1, nx)
            j = mod((row - 1) / nx, ny)
            k = (row - 1) / (nx * ny)
            inside = [k > 0, j > 0, i > 0, .true., i < nx - 1, j < ny - 1, k < nz - 1]
            row_ptr(row) = count + 1
            do e = 1, 7
                if (.not. inside(e)) cycle
                count = count + 1
                columns(count) = row + step(e)
                values(count) = merge(6, -1, e == 4)
            end do
        end do
        row_ptr(points + 1) = count + 1
    end subroutine

    function product_with(v) result(y)
        real(c_double), intent(in) :: v(points)
        real(c_double) :: y(points)
        integer :: row
        do row = 1, points
            associate (k => row_ptr(row), last => row_ptr(row + 1) - 1)
                y(row) = dot_product(values(k:last), v(columns(k:last)))
            end associate
        end do
    end function

    ! Ends the program with the context's message.
    subroutine must(status)
        integer(c_int), intent(in) :: status
        character(kind=c_char), pointer :: text(:)
        type(c_ptr) :: message
        if (status == 0) return
        message = gsw_context_message(context)
        call c_f_pointer(message, text, [strlen(message)])
        print '(999a)', text
        stop 1
    end subroutine

end program
